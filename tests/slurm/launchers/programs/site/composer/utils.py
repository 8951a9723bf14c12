"""What composer/cli/launcher.py imports."""

import socket

__all__ = ["get_free_tcp_port"]


def get_free_tcp_port() -> int:
    with socket.socket() as found:
        found.bind(("", 0))
        return int(found.getsockname()[1])
