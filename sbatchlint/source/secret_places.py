"""Where commands take a secret that has no name of its own: passwords of programs, headers, what a login reads."""

import re

from sbatchlint.source.regex import Regex

# Where a secret is given without a name of its own: a sign, which the text has in small letters, and what precedes it.
_OPTION = r"(?:[^\n;|&\\]|\\.|\\\r?\n){0,300}?[ \t\"',]"
_SCHEME = r"(?:(?:bearer|basic|token|apikey|key|digest)[ \t]+)?"
_OF_CURL = (
    rf"\bcurl{_OPTION}(?:-[fsSLkvgiIjlnNpqaBGOR#0-6]{{0,9}}[uU]|--user|--proxy-user)[ \t=]*['\"]?[^\s:'\"]+:(?=\S)"
)
# What reads a secret from its standard input.
_READING = (
    r"(?:stdin\b|\bsudo[ \t]+(?:[^\n;|&]{0,80}[ \t])?-\w*S\b|\bkinit\b|--with-token\b|[ \t]login(?=[ \t\r\n;&<]|\Z)"
    r"|\bchpasswd\b|\bcryptsetup\b|-passphrase-fd\b)"
)
_PRINTED = r"\b(?:echo|printf)[ \t]+(?:(?:--?[neE]*|['\"]?%[sb](?:\\+n)?['\"]?)[ \t]+)*"
_PIPED = rf"(?=['\"]?[^\s'\"]{{4}})(?=[^\n|]{{1,1000}}\|[^\n|]{{0,200}}{_READING})"
# What is written to a file that is named for a secret.
_TO_FILE = (
    r"(?=['\"]?[^\s'\"]{0,60}\d)(?=['\"]?[^\s'\"$]{6,400}['\"]?[ \t]*>>?[ \t]*[^\s;|&]{0,200}"
    r"(?:token|secret|api_?key|[._]key\b|pass(?:w(?:or)?d|phrase)?\b|credentials?|id_(?:rsa|ed25519)))"
)
# A format whose first conversion is set to the name of a secret, and a verb with a name and a value after it.
_OF_FORMAT = (
    r"\bprintf[ \t]+(?:-v[ \t]+\w+[ \t]+)?(?P<format>['\"])(?:(?!(?P=format))[^\n%]){0,80}?"
    r"(?:token|key|secret|pass(?:w(?:or)?d|phrase)?|credentials?|jwt|[_-]pat|pw|pwd|_auth|_dsn)\\?['\"]?[ \t]*[=:]"
    r"[ \t]*\\?['\"]?%[sqb](?:(?!(?P=format))[^\n%]){0,80}(?P=format)[ \t]+(?=\S)"
)
_OF_VERB = (
    r"[^\n;|&]{0,120}?[ \t][\w.-]{0,80}(?:token|_key|secret|passw(?:or)?d|_pass|passphrase)[ \t]+"
    r"(?=['\"]?[^\s'\"]{0,60}\d)(?=['\"]?[^\s'\"]{6})"
)
_OF_WANDB = r"\bwandb[ \t]+login(?:[ \t]+--[\w-]+(?:=\S+)?)*[ \t]+(?=['\"]?\w{0,60}\d)(?=['\"]?\w{8})"
PLACES = tuple(
    (sign, Regex(pattern, re.IGNORECASE if fold else 0))
    for sign, pattern, fold in (
        ("authorization", rf"authorization\\?['\"]?\]?[ \t]*[:=,][ \t]*\\?['\"]?{_SCHEME}", True),
        ("bearer", r"\bbearer[ \t:]+(?=[\w.~+/=-]{0,60}\d)(?=[\w.~+/=-]{8})", True),
        ("basic ", r"\bbasic[ \t]+(?=[\w.~+/=-]{0,60}\d)(?=[\w.~+/=-]{12})", True),
        ("token ", r"\btoken[ \t]+(?=[\w.~+/=-]{0,60}\d)(?=[\w.~+/=-]{12})", True),
        ("mysql", rf"\bmysql[\w.-]*{_OPTION}-p(?=[^\s'\"]|['\"]\S)", False),
        ("mariadb", rf"\bmariadb[\w.-]*{_OPTION}-p(?=[^\s'\"]|['\"]\S)", False),
        ("mycli", rf"\bmycli{_OPTION}-p[ \t]*(?=\S)", False),
        ("mongo", rf"\bmongo[\w.-]*{_OPTION}-p[ \t]*(?=\S)", False),
        ("7z", rf"\b7z[ar]?{_OPTION}-p(?=\S)", False),
        ("sshpass", rf"\bsshpass{_OPTION}-p[ \t]*(?=\S)", False),
        ("login", rf"\blogin{_OPTION}-p[ \t=]*(?=\S)", False),
        ("login", r"\blogin[ \t]+(?:-[\w-]+[ \t]+)*-k[ \t=]*(?=['\"]?\w{0,60}\d)(?=['\"]?\w{16})", False),
        ("redis-cli", rf"\bredis-cli{_OPTION}-a[ \t]*(?=\S)", False),
        ("ldap", rf"\bldap\w+{_OPTION}-[xLvZ]{{0,6}}w[ \t]*(?=\S)", False),
        ("sqlcmd", rf"\bsqlcmd{_OPTION}-P[ \t]*(?=\S)", False),
        ("zip", rf"\b(?:un)?zip{_OPTION}-[a-zA-Z]{{0,6}}P[ \t]*(?=\S)", False),
        ("ipmitool", rf"\bipmitool{_OPTION}-P[ \t]*(?=\S)", False),
        ("curl", _OF_CURL, False),
        ("curl", rf"\bcurl{_OPTION}(?:-b|--cookie)[ \t=]*['\"]?[\w.-]{{1,80}}=(?=\S)", False),
        ("cookie:", r"\bcookie:[ \t]*[\w.-]{1,80}=(?=\S)", True),
        ("-bearer", r"--oauth2-bearer[ \t=]+(?=\S)", False),
        ("auth", r"--(?:(?:http|proxy|basic)-)?auth[ \t=]+['\"]?[\w.@-]{1,80}:(?=\S)", False),
        ("lftp", rf"\blftp{_OPTION}-u[ \t]*['\"]?[^\s,'\"]{{1,80}},(?=\S)", False),
        ("ncftp", rf"\bncftp\w*{_OPTION}-p[ \t]*(?=\S)", False),
        ("swaks", rf"\bswaks{_OPTION}-ap[ \t]+(?=\S)", False),
        ("xfreerdp", rf"\bxfreerdp{_OPTION}/p:(?=\S)", False),
        ("ssh-keygen", rf"\bssh-keygen{_OPTION}-[NP][ \t]*(?=\S)", False),
        ("vault", r"\bvault[ \t]+login[ \t]+(?:-[\w=-]+[ \t]+)*(?=['\"]?[\w.]{8})(?!\w+=)", False),
        ("send", r"pass(?:word|wd|phrase)\b[^\n;]{0,40}[;\n][ \t]*send[ \t]+(?:--[ \t]+)?(?=\\?[\"'])", True),
        ("pgpass", r"(?m)^[\w.*-]{1,80}:(?:\d{2,5}|\*):[\w.*-]{1,80}:[\w.*@-]{1,80}:(?=\S)", False),
        ("smbclient", rf"\bsmbclient{_OPTION}-U[ \t]*['\"]?[^\s%'\"]+%", False),
        ("pass:", r"-pass\w*[ \t=]+['\"]?pass:", False),
        ("--token", r"--token(?:=|[ \t]+)(?=[^\s-])", False),
        ("token", r"\btoken\\?['\"]?[=:][ \t]*(?=\\?['\"]?[\w.~+/=-]{0,60}\d)(?=\\?['\"]?[\w.~+/=-]{8})", True),
        ("wandb", _OF_WANDB, False),
        ("login(", r"\blogin\([ \t]*(?:(?:api_)?(?:key|token)[ \t]*=[ \t]*)?(?=\\?['\"])", False),
        ("login", r"\bmachine[ \t]+\S+[ \t\n]+login[ \t]+\S+[ \t\n]+password[ \t]+", False),
        ("<<<", rf"{_READING}[^\n;|&<]{{0,200}}<<<[ \t]*(?=\S)", False),
        ("|", _PRINTED + _PIPED, False),
        (">", _PRINTED + _TO_FILE, True),
        ("printf", _OF_FORMAT, True),
        *((verb, rf"\b{verb}\b{_OF_VERB}", True) for verb in ("config", "modify")),
        ("aws configure", r"\baws[ \t]+configure[ \t]+set[ \t]+\S{0,80}(?:key|token)[ \t]+(?=\S)", False),
        ("setenv", r"\bsetenv[ \t]+\w{0,80}(?:token|key|secret|password|passwd)[ \t]+(?=[^\s/$])", True),
        ("openssl", rf"\bopenssl{_OPTION}-[kK][ \t]+(?=\S)", False),
        ("alias", r"\balias[ \t]+set[ \t]+\S{1,80}[ \t]+\S{1,200}[ \t]+\S{1,80}[ \t]+(?=\S)", False),
        ("sig=", r"[?&]sig=", False),
        ("x-amz-", r"x-amz-(?:signature|credential|security-token)=", True),
        ('"key"', r"\"key\"[ \t]*:[ \t]*(?=\"[a-f0-9]{32}\")", False),
        ('"auth"', r"\"auth\"[ \t]*:[ \t]*(?=\"[\w+/=]{8})", False),
    )
)  # fmt: skip
