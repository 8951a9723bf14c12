"""Where files of settings, dialogues and other languages hold a secret that no name beside it tells."""

import re

from sbatchlint.source.regex import Regex

_NAME = r"(?:token|_key|apikey|secret|passw(?:or)?d|passphrase|_pass|credentials?|_pat|_pwd|_pw)"
_NAMES = ("token", "_key", "apikey", "secret", "password", "passwd", "passphrase", "_pass", "_pwd", "_pw")
_LISTED = ("token", "key", "secret", "password")
_QUOTED = r"[frbu]{0,2}['\"][^'\"\n]{0,80}['\"]"
# A value alone on its line, below its name and a colon; what has a colon itself, or lines like it below, is a setting.
_BELOW = (
    r"\\?['\"]?[ \t]*:[ \t]*(?:[|>][+-]?[0-9]?)?[ \t]*\r?\n(?P<in>[ \t]+)\\?['\"]?"
    r"(?P<value>[^\s'\":#|>{}\[\],$-][^\s'\"$]{3,400}?)\\?['\"]?,?[ \t}]*$(?!\r?\n(?P=in)\S)"
)
_OF_LIST = rf"[ \t]*=[ \t]*[\[(][ \t]*(?:{_QUOTED}[ \t]*,\s{{0,80}})"
_IN_LIST = (
    r"\\?['\"](?P<value>(?=[\w+/=.-]{0,80}[0-9])(?=[\w+/=.-]{0,80}[A-Za-z])[\w+/=.-]{16,400})(?=\\?['\"][ \t]*[,\])\n])"
)
_OF_USER = r"(?<![\w.-])(?:proxy-)?user[ \t]*=[ \t]*\\?['\"]?(?!\d+:\d)[\w.@-]{1,80}:(?=[^\s'\"/$\\])"
_TWO_WORDS = rf"(?:\s{{0,80}}{_QUOTED}[ \t]*,){{2}}\s{{0,80}}"
_TAKING_USERS = ("connect", "database", "set_password")
_TO_ROLE = r"\b(?:user|role)[ \t]+\S{1,80}[ \t]+(?:with[ \t]+)?(?:encrypted[ \t]+)?password[ \t]+(?=\\?['\"])"
_OF_OPTION = r"\b(?:[^\n;|&\\]|\\.|\\\r?\n){0,300}?[ \t]"
_OF_REDIS = rf"\bredis-cli{_OF_OPTION}AUTH[ \t]+(?:\w{{1,40}}[ \t]+(?=[^\s;|&<>-]))?(?=[^\s$])"
_OF_HEADERS = r"['\"]authorization\\?['\"]\]?[ \t]*[:,=][ \t]*[frbu]{1,2}\\?['\"]bearer[ \t]+(?=[^\s{$])"
_OF_LOOP = (
    rf"\bwhile[ \t]+(?:IFS=\S{{0,8}}[ \t]+)?read\b[^\n;]{{0,80}}{_NAME}[ \t]*;"
    r"[^\n<]{0,300}\bdone[ \t]*<<<[ \t]*(?=\S)"
)
# The password of a connection to PostgreSQL, whose settings are parted by blanks, up to the blank or the quote.
_PAIR = r"[A-Za-z_]{1,40}[ \t]?=[ \t]?[^\s'\"\\]{1,200}[ \t]+"
_TO_BLANK = r"password[ \t]?=[ \t]?(?P<value>(?:[^\s'\"\\$;]|;(?!\w{1,40}=)(?=[^\s'\"])){1,400})"
_OF_LIBPQ = (
    rf"['\"](?:{_PAIR}){{1,8}}{_TO_BLANK}",
    rf"['\"]{_TO_BLANK}(?=[ \t]+(?:host|hostaddr|port|dbname|user|sslmode)[ \t]?=)",
)
# Headers of services whose names end like those of nothing else: Artifactory, one-time codes, Honeycomb, Azure.
_OF_HEADER = r"\b%s['\"]?[ \t]*[:=][ \t]*['\"]?(?=[^\s'\"$])"
_HEADERS = (
    *("x-jfrog-art-api", "x-gitea-otp", "x-github-otp", "x-forgejo-otp"),
    *("x-seafile-otp", "x-honeycomb-team", "x-functions-key"),
)
# A line of a name and a value; `passwd ada` is a command.
_ALONE = (
    r"(?m)^[ \t]*(?:password|passwd(?=.{0,400}[^a-z\s]))[ \t]+"
    r"(?P<value>[^\s'\"$#=:-][^\s'\"$]{3,400})[ \t]*$"
)
# What prints a password, alone or within quotes.
_PRINTS = r"(?:pass(?:w(?:or)?d|phrase)?|pw)[_-]?(?:command|cmd|eval)[ \t=]+"
_FLAGS = r"(?:echo|printf)[ \t]+(?:-[neE]{1,3}[ \t]+|\\?['\"]?%[sb](?:\\+n)?\\?['\"]?[ \t]+){0,3}"
_OF_PRINTING = (
    rf"{_PRINTS}{_FLAGS}(?=[^\s$])",
    rf"{_PRINTS}'{_FLAGS}(?P<value>[^\s'$][^'\n]{{0,400}})(?=')",
    rf"{_PRINTS}\"{_FLAGS}(?P<value>[^\s\"$](?:\\.|[^\"\\\n]){{0,400}})(?=\")",
)
# A block of lines, which are all more indented than its name.
_BLOCK = (
    r"^(?P<out>[ \t]*)(?:-[ \t]+)?['\"]?[\w.-]{0,60}%s['\"]?[ \t]*:[ \t]*[|>][+-]?[0-9]?[ \t]*\r?\n"
    r"(?P<value>(?P=out)[ \t]+[^\s][^\n]{0,1000}(?:\n(?P=out)[ \t]+[^\s][^\n]{0,1000}){0,60})"
)
_OF_DIALOGUE = r"p?ass(?:word|wd|phrase)\b[^\n;{]{0,40}\{[ \t]*send[ \t]+(?:--[ \t]+)?(?=\\?[\"'])"
PLACES_OF_LINES = tuple(
    (sign, Regex(pattern, re.IGNORECASE if fold else 0))
    for sign, pattern, fold in (
        *((name, f"(?m){name}{_BELOW}", True) for name in _NAMES),
        *((name, f"(?m){_BLOCK % name}", True) for name in _NAMES),
        *((f"{name}s", f"{name}s{_OF_LIST}{{{before}}}{_IN_LIST}", True) for name in _LISTED for before in range(3)),
        ("user", _OF_USER, False),
        ("<<<", _OF_LOOP, True),
        ("send", _OF_DIALOGUE, True),
        *((f"{verb}(", rf"\b{verb}\({_TWO_WORDS}(?=\\?['\"])", False) for verb in _TAKING_USERS),
        ("password", _TO_ROLE, True),
        ("password", r"\bpassword[ \t]*\([ \t]*(?=\\?['\"][^\s'\"]{3})", True),
        ("passw", _ALONE, False),
        ("passw", _ALONE.replace("password|passwd", "Password|PASSWORD|Passwd"), False),
        ("pw", r"(?m)^[ \t]*(?:bind|root)_?pw[ \t]+(?=[^\s$])", True),
        ("pwd", r"(?m)^[ \t]*uid[ \t]*=[^\n]{1,80}\n(?:[^\n]{0,80}\n){0,2}?[ \t]*pwd[ \t]*=[ \t]*(?=[^\s/$])", True),
        ("open", r"\bopen[ \t]+(?:-\w+[ \t]+)?-u[ \t]*['\"]?[^\s,'\"]{1,80},(?=\S)", False),
        ("requirepass", r"\brequirepass[ \t]+(?=[^\s$])", False),
        ("masterauth", r"\bmasterauth[ \t]+(?=[^\s$])", False),
        ("auth", _OF_REDIS, False),
        ("auth", r"(?m)^[ \t]*AUTH[ \t]+(?=[^\s$]+[ \t]*$)", False),
        ("refresh-token", r"\bactivate-refresh-token[ \t]+\S{1,80}[ \t]+(?=[^\s$])", False),
        *((sign, pattern, True) for sign in ("pass", "pw-c") for pattern in _OF_PRINTING),
        ("env{", rf"\$ENV\{{\\?['\"]?\w{{0,60}}{_NAME}\\?['\"]?\}}[ \t]*=[ \t]*(?=\\?['\"])", True),
        ("rar", rf"\brar{_OF_OPTION}-hp(?=[^\s$-])", False),
        ("authz=", r"[?&]authz=(?:Bearer(?:%20|\+))?(?=[^\s$&])", False),
        ("key:", r"(?:-H|--header)[ \t=]*['\"](?i:[\w-]{0,60}key):[ \t]*(?=[^\s$])", False),
        ("bearer", _OF_HEADERS, True),
        *(("password", pattern, True) for pattern in _OF_LIBPQ),
        *((header, _OF_HEADER % header, True) for header in _HEADERS),
    )
)  # fmt: skip
