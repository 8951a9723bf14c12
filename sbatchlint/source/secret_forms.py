"""Tokens that tell by their form what they are."""

import re

from sbatchlint.source.regex import Regex

# Tokens that tell by their form what they are: how they begin, what follows, and what is enough for reports and logs
# not to show them, where that is less. A text without such a beginning is not searched for the rest.
_FORMS = (
    ("hf_", "[A-Za-z0-9]{30,}", "[A-Za-z0-9]{16,}"),
    ("gh", "[opsur]_[A-Za-z0-9]{36,}", "[opsur]_[A-Za-z0-9]{16,}"),
    ("github_pat_", r"\w{50,}", r"\w{16,}"),
    ("gl", r"(?:pat|dt|rt|cbt|ptt|soat|agent)-[\w.-]{20,}", r"(?:pat|dt|rt|cbt|ptt|soat|agent)-[\w.-]{16,}"),
    ("nvapi-", r"[\w-]{40,}", r"[\w-]{16,}"),
    ("AKIA", "[A-Z0-9]{16}", ""),
    ("ASIA", "[A-Z0-9]{16}", ""),
    ("xox", r"[abeprs]-[\w-]{20,}", r"[abeprs]-[\w-]{10,}"),
    ("xapp-", r"[\w-]{20,}", ""),
    ("AIza", r"[\w-]{35}", r"[\w-]{30,}"),
    ("ya29.", r"[\w-]{30,}", ""),
    ("GOCSPX-", r"[\w-]{28}", r"[\w-]{20,}"),
    ("npm_", "[A-Za-z0-9]{36}", "[A-Za-z0-9]{30,}"),
    ("ntn_", "[A-Za-z0-9]{40,}", "[A-Za-z0-9]{16,}"),
    ("figd_", r"[\w-]{40,}", ""),
    ("shp", "(?:at|ca|pa|ss)_[a-fA-F0-9]{32}", ""),
    ("tskey-", r"(?:auth|api|client)-\w{8,}-\w{16,}", ""),
    ("dp.", r"(?:pt|st|ct|sa)\.(?:\w+\.)?\w{40,}", ""),
    ("fm2_", r"[A-Za-z0-9+/=]{40,}", ""),
    ("pscale_", r"(?:tkn|pw|oauth)_[\w.-]{32,}", ""),
    ("HRKU-", r"[\w-]{36,}", ""),
    ("nfp_", "[A-Za-z0-9]{36,}", ""),
    ("sk.eyJ", r"[\w-]{20,}\.[\w-]{20,}", ""),
    ("NRAK-", "[A-Z0-9]{27}", ""),
    ("rpa_", "[A-Z0-9]{40,}", ""),
    ("ATBB", r"(?=\w*[0-9])(?=\w*[a-z])\w{32,}", ""),
    ("ATATT3", r"[\w=-]{100,}", ""),
    ("lin_api_", "[A-Za-z0-9]{40}", ""),
    ("sbp_", "[a-f0-9]{40}", ""),
    ("pypi-", r"[\w-]{50,}", r"[\w-]{30,}"),
    ("do", "[por]_v1_[a-f0-9]{64}", "[por]_v1_[a-f0-9]{30,}"),
    ("wandb_v1_", r"\w{30,}", r"\w{16,}"),
    ("local-", "[a-f0-9]{40}", ""),
    ("sk-", r"(?:(?:proj|ant|or|svcacct|lf|admin)-[\w-]{20,}|[A-Za-z0-9]{32,})", r"[\w-]{16,}"),
    ("pk-", "", r"[\w-]{16,}"),
    ("rk-", "", r"[\w-]{16,}"),
    *((kind, "(?:live|test)_[A-Za-z0-9]{24,}", "") for kind in ("sk_", "rk_", "pk_")),
    ("whsec_", "[A-Za-z0-9+/=]{32,}", ""),
    ("dckr_pat_", r"[\w-]{20,}", ""),
    ("dckr_oat_", r"[\w-]{20,}", ""),
    ("r8_", "[A-Za-z0-9]{37}", "[A-Za-z0-9]{30,}"),
    ("gsk_", "[A-Za-z0-9]{40,}", ""),
    ("pplx-", "[A-Za-z0-9]{40,}", ""),
    ("xai-", "[A-Za-z0-9]{60,}", ""),
    ("dapi", "[a-f0-9]{32}(?:-[0-9])?", ""),
    ("SG.", r"[\w-]{20,24}\.[\w-]{39,50}", ""),
    ("AC", "[a-f0-9]{32}", ""),
    ("SK", "[a-f0-9]{32}", ""),
    ("hv", r"[sbr]\.[\w-]{24,}", ""),
    ("glsa_", "[A-Za-z0-9]{32}_[a-fA-F0-9]{8}", ""),
    ("glc_", "[A-Za-z0-9+/=]{32,}", ""),
    ("sntrys_", "[A-Za-z0-9+/=_]{40,}", ""),
    ("sntryu_", "[a-f0-9]{64}", ""),
    ("KGAT_", "[a-f0-9]{32}", ""),
    ("lsv2_", r"(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}", ""),
    ("AGE-SECRET-KEY-1", "[A-Z0-9]{58}", ""),
    ("eyJ", r"[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}", r"[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}"),
    ("eyJhcGlf", r"[\w+/-]{40,}={0,2}", ""),
    ("hooks.slack.com/services/T", r"\w+/B\w+/\w{16,}", ""),
    ("/services/T", r"[A-Z0-9]{6,14}/B[A-Z0-9]{6,14}/\w{16,}", ""),
    ("LS0tLS1CRUdJTiB", r"(?!DRVJUSUZJ|QVUJMSU)[A-Za-z0-9+/]{40,}={0,2}", ""),  # a private key in base 64
    ("b3BlbnNzaC1rZXktdjE", "[A-Za-z0-9+/]{40,}={0,2}", ""),
    ("/api/webhooks/", r"\d{15,22}/[\w-]{50,}", r"\d{15,22}/[\w-]{30,}"),
)
# Tokens that tell it by what is in their middle, which is looked for first.
_OTHER_FORMS = (
    (":AA", r"(?:(?<![\w-])|(?<=/bot))\d{8,10}:AA[\w-]{33}(?![\w-])"),
    ("8Q~", r"(?<![\w~.-])[\w~.-]{3}8Q~[\w~.-]{31,34}(?![\w~-])"),
    ("7Q~", r"(?<![\w~.-])[\w~.-]{3}7Q~[\w~.-]{31,34}(?![\w~-])"),
    (".G", r"(?<![\w-])[MNO][\w-]{23,27}\.G[\w-]{5}\.[\w-]{27,40}(?![\w-])"),
)


def _form(begin: str, rest: str) -> Regex:
    """A token that begins a word, or is after an escape; to begin a pattern with its text makes it fast."""
    exact = re.escape(begin)
    before = "" if begin[0] == "/" else rf"(?:(?<![\w-]{exact})|(?<=\\[nrt]{exact})|(?<=:-{exact}))"
    return Regex(rf"{exact}{before}{rest}(?![\w-])")


TOKENS = (
    *((begin, _form(begin, rest)) for begin, rest, _ in _FORMS if rest),
    *((sign, Regex(pattern)) for sign, pattern in _OTHER_FORMS),
)
LOOSE_TOKENS = (
    *((begin, _form(begin, loose or rest)) for begin, rest, loose in _FORMS),
    *((sign, Regex(pattern)) for sign, pattern in _OTHER_FORMS),
)
