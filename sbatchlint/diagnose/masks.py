"""Secrets in logs and scripts, which no report repeats."""

import re

from sbatchlint.source.secret_names import is_secret

MASK = "***"

# Tokens that tell by their form what they are.
_TOKENS = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{16,}|(?:sk|pk|rk)-[\w-]{16,}|gh[opsur]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}"
    r"|nvapi-[\w-]{16,}|(?:AKIA|ASIA)[A-Z0-9]{16}|xox[abeprs]-[\w-]{10,}|AIza[\w-]{30,}|npm_[A-Za-z0-9]{30,}|pypi-[\w-]{30,}"
    r"|dop_v1_[a-f0-9]{30,}|wandb_v1_\w{16,}|local-[a-f0-9]{40}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,})"
)
_ADDRESS = re.compile(r"(\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@]{0,200}:)[^\s/@]{1,200}(?=@)")
_BEARER = re.compile(r"(\b(?:bearer|basic|token)[ :]+)(?=[\w.~+/=-]*\d)[\w.~+/=-]{12,}", re.IGNORECASE)
_SET = re.compile(r"(['\"]?)(?P<name>[A-Za-z_][\w-]{1,80})(\1\s?[=:]\s?['\"]?)(?P<value>[^\s'\",;&]{4,400})")
_OPTION = re.compile(r"(?<!\S)--(?P<name>[A-Za-z][\w-]{1,60})([= ]['\"]?)(?P<value>[^\s'\"-][^\s'\"]{3,400})")
_KEY = re.compile(r"(-----BEGIN [A-Z ]*PRIVATE KEY-----).*")


def masked(text: str) -> str:
    """A text with every secret in it replaced."""
    text = _KEY.sub(rf"\1{MASK}", _TOKENS.sub(MASK, text))
    text = _BEARER.sub(rf"\1{MASK}", _ADDRESS.sub(rf"\1{MASK}", text))
    return _OPTION.sub(_option, _SET.sub(_setting, text))


def _setting(match: re.Match[str]) -> str:
    return f"{match[1]}{match['name']}{match[3]}{MASK}" if _is_secret(match) else match[0]


def _option(match: re.Match[str]) -> str:
    return f"--{match['name']}{match[2]}{MASK}" if _is_secret(match) else match[0]


def _is_secret(match: re.Match[str]) -> bool:
    return is_secret(match["name"].replace("-", "_")) and not match["value"].startswith(("$", MASK))
