"""Names of variables and options that hold a secret: a token, a key, a password."""

import re
from functools import lru_cache

from sbatchlint.source.regex import Regex

_SERVICES = (
    "WANDB|HF|HUGGING_?FACE|OPENAI|ANTHROPIC|GEMINI|COHERE|MISTRAL|REPLICATE|TOGETHER|COMET|NEPTUNE|NGC|AZURE|AWS|S3"
    "|GITHUB|GITLAB|STORAGE|ACCOUNT|ENCRYPTION|SIGNING|LICENSE"
)
_NAMES = Regex(
    rf"(?:\w*_)?(?:TOKEN|API_?KEY|SECRET(?:_?(?:ACCESS_?)?KEY)?|ACCESS_KEY|AUTH_KEY|(?:{_SERVICES})_KEY|PASSWORD|PASSWD"
    r"|PASSPHRASE|CREDENTIALS?|JWT|(?:GH|GITHUB|GITLAB)_PAT|(?:DB|SQL|MYSQL|PG|POSTGRES|MONGO|REDIS|USER|LDAP)_PASS)"
    r"|SSHPASS|(?:\w+_)?PW",
    re.IGNORECASE,
)
# Tokens of a text, and words that merely end so.
_TEXT_TOKENS = Regex(
    r"(?:\w*_)?(?:EOS|BOS|PAD|MASK|SEP|CLS|UNK|SPECIAL|IMAGE|VIDEO|AUDIO|START|STOP|END|NEW|PER|NUM|N|MAX|MIN|TRAIN|EVAL"
    r"|PROMPT|NEXT|LAST|FIRST|CANCEL|REMOVE|EXTRA|STOPPING|TRIGGER|CHAT|ENTITY|CLASS)_TOKEN",
    re.IGNORECASE,
)

# Given out for one use, or for minutes.
_SHORT_LIVED = Regex(
    r"(?:\w*_)?(?:REGISTRATION|REMOVAL|REMOVE|ENROLL?MENT|JOIN|BOOTSTRAP|SESSION|TEMP(?:ORARY)?|ONE_?TIME|SINGLE_?USE)_\w+",
    re.IGNORECASE,
)


@lru_cache(maxsize=1024)
def is_secret(name: str) -> bool:
    """Whether a variable of this name holds a secret."""
    return _NAMES.fullmatch(name) is not None and _TEXT_TOKENS.fullmatch(name) is None and name != "token"


def is_short_lived(name: str) -> bool:
    """Whether a secret of this name is worth little once it was used."""
    return _SHORT_LIVED.fullmatch(name) is not None
