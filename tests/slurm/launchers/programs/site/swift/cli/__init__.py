"""The modules of the installed ms-swift, but for those that lie here."""

import os
import sys

__path__ += [f"{folder}/swift/cli" for folder in sys.path if os.path.exists(f"{folder}/swift/cli/main.py")]
