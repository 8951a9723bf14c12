"""Addresses that need no other password: whoever has one can write to a channel, or tell that a job is alive."""

import re
from collections.abc import Iterator

from sbatchlint.source.regex import Regex
from sbatchlint.source.secret_placeholders import is_placeholder

_PATH = r"[^\s'\"`<>(){}\\$,;|&]"
# What is a secret of each host, after its name.
_HOSTS = (
    ("slack.com/", rf"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<value>{_PATH}+)"),
    ("/webhook", rf"(?:outlook\.office(?:365)?|[\w-]{{1,63}}\.webhook\.office)\.com/webhook\w*/(?P<value>{_PATH}+)"),
    ("incomingwebhook/", rf"/(?P<value>[\w@-]{{8,200}}/IncomingWebhook/{_PATH}+)"),
    ("/webhooks/", rf"/api/(?:v\d+/)?webhooks/\d{{5,25}}/(?P<value>{_PATH}+)"),
    ("hooks.zapier", rf"hooks\.zapier\.com/hooks/(?:catch/)?(?P<value>{_PATH}+)"),
    ("make.com/", rf"hook\.[\w.]{{0,20}}make\.com/(?P<value>{_PATH}+)"),
    ("integromat", rf"hook\.integromat\.com/(?P<value>{_PATH}+)"),
    ("ifttt", rf"maker\.ifttt\.com/[^\s'\"]{{0,200}}?/key/(?P<value>{_PATH}+)"),
    ("hc-ping", rf"hc-ping\.com/(?P<value>{_PATH}+)"),
    ("healthchecks", rf"healthchecks\.io/ping/(?P<value>{_PATH}+)"),
    ("nosnch", rf"nosnch\.in/(?P<value>{_PATH}+)"),
    ("cronitor", rf"cronitor\.link/p/(?P<value>{_PATH}+)"),
    ("heartbeat/", rf"/heartbeat/(?P<value>(?={_PATH}{{0,80}}\d){_PATH}{{16,}})"),
    ("ntfy", rf"\bntfy\.sh/(?!docs|app)(?P<value>(?={_PATH}{{0,80}}\d){_PATH}{{4,}}|{_PATH}{{16,}})"),
    *(
        (f"{name}://", rf"\b{name}://(?P<value>(?={_PATH}{{0,80}}\d){_PATH}{{8,}})")
        for name in ("tgram", "discord", "slack", "pover", "pbul")
    ),
    ("day.app", r"api\.day\.app/(?P<value>[\w-]{16,})"),
    ("ftqq", r"sc(?:tapi)?\.ftqq\.com/(?P<value>[\w-]{16,})"),
    ("/hook/", rf"/open-apis/bot/(?:v\d/)?hook/(?P<value>{_PATH}+)"),
    ("pagerduty", r"events\.pagerduty\.com/integration/(?P<value>[\w-]{16,})"),
    ("/incoming/", rf"/webhooks?/incoming/(?P<value>{_PATH}+)"),
    ("webhook.site", r"webhook\.site/(?P<value>[\w-]{16,})"),
    # the same for a part of a query
    (
        "=",
        (
            r"[?&](?:[\w-]{0,40}(?:token|secret|signature|passw(?:or)?d)|(?:api_?)?key|sig)="
            r"(?P<value>[\w%.~+/=-]{8,4000})"
        ),
    ),
)
# Any host: `/hooks/` and one drawn part after it, or several.
_ANY = Regex(
    r"/(?:web)?hooks?/(?:catch/|incoming/)?(?P<value>(?:[\w-]{1,60}/){0,3}"
    r"(?=[\w-]{0,60}[0-9])(?=[\w-]{0,60}[a-z])(?:[A-Za-z0-9]{17,400}|(?=[a-z0-9]{0,60}[A-Z])[A-Za-z0-9]{12,16}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}))(?![\w.-])"
)
_TO_FILL_IN = Regex(r"(?i)(?<![a-z0-9])(?:x{4,}|placeholder|none)(?![a-z0-9])|x{8}|\.\.\.")
_COMPILED = tuple((sign, Regex(pattern, re.IGNORECASE)) for sign, pattern in _HOSTS)


def in_hooks(string: str) -> Iterator[tuple[int, int]]:
    """Where addresses have what nobody else is to know."""
    lowered = string.lower()
    for sign, pattern in _COMPILED:
        for match in pattern.finditer(string) if sign in lowered else ():
            if not _is_filled_in_later(match["value"]):
                yield match.span("value")


def in_drawn_hooks(string: str) -> Iterator[tuple[int, int]]:
    """The same of any host, where what it has was drawn."""
    if "hook" in string.lower():
        for match in _ANY.finditer(string):
            yield match.span("value")


def _is_filled_in_later(value: str) -> bool:
    return is_placeholder(value) or _TO_FILL_IN.search(value) is not None
