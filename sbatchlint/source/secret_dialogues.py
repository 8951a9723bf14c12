"""Commands that programs read: of protocols, of shells for files, and of databases, wherever a script has them.

They stand in heredocs, in quotes after `-e` or `--eval`, in what `printf` writes to a pipe, and in files of commands.
"""

import re

from sbatchlint.source.regex import Regex

# Between two commands: their lines, or what is for a new line within quotes.
_NEXT = r"[ \t]{0,20}(?:\\r)?(?:\\n|;|\r?\n|['\"][ \t]*(?:\\\r?\n[ \t]*)?['\"])[ \t]*"
_END = r"(?=[ \t]*(?:\\r|\\n|;|\r?\n|['\"]|\Z))"
# A command, which may be an argument of one that prints it.
_ECHO = r"(?:(?:echo|print|puts)[ \t]+(?:-\w+[ \t]+)?['\"]?)?"
_FIRST = rf"(?:^|(?<=['\";({{{{])|(?<=\\n))[ \t]{{0,40}}{_ECHO}"
# What such a program reads before or after the name of a user.
_OF_FILES = (
    r"(?:open|connect|get|mget|put|mput|binary|bin|ascii|prompt|passive|epsv|bye|quit|exit|close|l?cd|mirror|reget"
    r"|pget|mkdir|hash|tick|ls|dir|nlist|type|verbose|site|debug|set[ \t]+[a-z]{2,8}:[\w/-]+)\b"
)
_USER = r"(?:quote[ \t]+)?user[ \t]+['\"]?[^\s;'\"|]{1,80}['\"]?[ \t]+"
_WORD = r"\\?['\"]?(?P<value>[^\s;'\"|\\$][^\s;'\"|\\]{0,400})"
_AFTER_COMMAND = rf"(?m){_FIRST}{_OF_FILES}[^\n;'\"]{{0,200}}{_NEXT}{_ECHO}{_USER}{_WORD}{_END}"
_BEFORE_COMMAND = rf"(?m){_FIRST}{_USER}{_WORD}\\?['\"]?{_NEXT}{_ECHO}{_OF_FILES}"
# What is piped to such a program, or given to it in a heredoc or by an option.
_TO_FTP = (
    rf"\b(?:printf|echo)[ \t]+(?:-\w+[ \t]+)?['\"](?:[^\n'\"]{{0,200}}?(?:\\n|;))?[ \t]*{_USER}{_WORD}"
    r"(?=[^|\n]{0,300}\|[^\n|]{0,80}ftp\b)"
)
_OF_FTP = rf"ftp\b[^\n]{{0,200}}<<[^\n]{{1,60}}\n(?:[^\n]{{0,200}}\n){{0,6}}?[ \t]*{_USER}{_WORD}[ \t]*$"
_OF_LFTP = rf"\blftp\b[^\n]{{0,300}}?['\";][ \t]*{_USER}{_WORD}{_END}"
_PASS = rf"(?m)\buser[ \t]+[^\s;'\"|\\]{{1,80}}{_NEXT}(?:quote[ \t]+)?pass[ \t]+{_WORD}{_END}"
_QUOTED_PASS = rf"\bquote[ \t]+pass[ \t]+{_WORD}{_END}"
# Mail, news and queues.
_OF_IMAP = rf"(?m){_FIRST}[A-Za-z0-9]{{1,6}}[ \t]+LOGIN[ \t]+\\?['\"]?[^\s'\"\\]{{1,80}}\\?['\"]?[ \t]+{_WORD}{_END}"
_OF_NEWS = rf"\bAUTHINFO[ \t]+PASS[ \t]+{_WORD}{_END}"
_AUTH_PLAIN = r"\bAUTH[ \t]+PLAIN[ \t]+(?=[\w+/=]{8})"
_AUTH_LOGIN = rf"\bAUTH[ \t]+LOGIN{_NEXT}[\w+/=]{{4,200}}{_NEXT}(?P<value>[\w+/=]{{4,400}}){_END}"
_OF_REDIS = rf"(?m){_FIRST}(?:AUTH|HELLO[ \t]+[23][ \t]+AUTH)[ \t]+(?!PLAIN|LOGIN)[\w.-]{{1,60}}[ \t]+{_WORD}{_END}"
_TO_REDIS = (
    rf"<<<[ \t]*['\"]AUTH[ \t]+{_WORD}['\"]",
    rf"['\"]AUTH[ \t]+(?!PLAIN|LOGIN){_WORD}(?=(?:\\r)?\\n)",
)
_ACL_OF_REDIS = r"\bACL[ \t]+SETUSER[ \t]+\S{1,80}[ \t][^\n]{0,200}?>(?=[^\s>])"
_OF_KEYTAB = rf"\b(?:addent|add_entry)[ \t]+-password[^\n]{{0,200}}?{_NEXT}{_WORD}{_END}"
_DIGEST = r"\baddauth[ \t]+digest[ \t]+[\w.-]{1,80}:(?=\S)"
_OF_FETCHMAIL = (
    r"\buser(?:name)?[ \t]+\\?['\"]?[^\s'\"\\]{1,80}\\?['\"]?[ \t]+(?:with[ \t]+|there[ \t]+)?pass(?:word)?[ \t]+"
    r"(?=[^\s$])"
)
_OF_CHAP = r"(?m)^[ \t]*\"?[\w.@-]{1,80}\"?[ \t]+\*[ \t]+\"?(?P<value>[^\s\"$*#]{4,400})\"?[ \t]+\*[ \t]*$"
_OF_VPN = r"(?m)^[ \t]*(?:Xauth[ \t]+password|IPSec[ \t]+secret)[ \t]+(?=[^\s$])"
_MOUNTED = r"-o[ \t]*['\"]?[^\s'\"]{0,200}?\buser(?:name)?=[\w.\\-]{1,60}%(?=[^\s%,$])"
_OF_SNMP = (
    r"(?m)^[ \t]*def(?:Auth|Priv)?Passphrase[ \t]+(?=[^\s$])",
    r"(?m)^[ \t]*createUser[ \t]+\S{1,80}[ \t]+(?:MD5|SHA[\d-]*)[ \t]+(?=[^\s$])",
)
# What a parser says of a value before it names the option.
_REFUSED = (
    r"\binvalid (?:\w{1,20} )?value:? ['\"](?P<value>[^'\"\n]{1,400})['\"] for (?:(?:option|argument) )?['\"]?"
    r"[\w-]{0,60}(?:token|key|secret|pass(?:w(?:or)?d|phrase)?|credentials?|pw|psk)(?![\w-])"
)
_PSERVER = r":[pk]?server:[^\s:@/'\"]{1,80}:(?P<value>[^\s@'\"$]{1,200})@"
# Databases: in statements, and in calls of their shells.
_STRING = r"(?:N|E|U&)?(?=\\{0,3}['\"])"
_SET_TO = rf"\bpassword[ \t]*=[ \t]*{_STRING}"
_WITH_PASSWORD = rf"\b(?:set|change|from|to|with|encrypted|,|\()[ \t]*password[ \t]+(?:from[ \t]+)?{_STRING}"
_TO_PASSWORD = rf"\bset[ \t]+password[ \t]+from[ \t]+\S{{1,200}}[ \t]+to[ \t]+{_STRING}"
_IDENTIFIED = r"\bidentified[ \t]+by[ \t]+(?:values[ \t]+)?\\?['\"]?(?P<value>[^\s;'\"\\$]{2,200})"
_SET_FOR = rf"\bset[ \t]+password[ \t]+for[ \t]+\S{{1,200}}[ \t]*=[ \t]*{_STRING}"
_PRAGMA = rf"\bpragma[ \t]+(?:hex)?(?:re)?key[ \t]*=[ \t]*{_STRING}"
_OF_SECRET = rf"[,(][ \t]*secret[ \t]+{_STRING}"
_OF_CALL = (
    r"\b(?:auth|changeUserPassword|createUser|updateUser|setPassword|set_password)\([ \t]*"
    r"\\?['\"][^'\"\n\\]{1,80}\\?['\"][ \t]*,[ \t]*(?:\{[^}\n]{0,80}?pwd[ \t]*:[ \t]*)?(?=\\?['\"])"
)
_SQLPLUS = (
    r"\bsql(?:plus|cl)\b[^\n]{0,200}<<[^\n]{1,60}\n(?:[^\n]{0,200}\n){0,6}?[ \t]*conn(?:ect)?[ \t]+\w{1,40}/"
    r"(?P<value>[^\s@;'\"$]{2,200})"
)
_BTEQ = r"\.logon[ \t]+[^\s,;]{1,120},(?P<value>[^\s;'\"$]{1,200})"
# The answer of a dialogue: `expect password {send x}`, in Python and in expect.
_SENDLINE = (
    r"(?i:pass(?:word|wd|phrase|code)|pin)\b[^\n]{0,40}['\"][ \t]*\)[ \t;]*\n?[ \t]*\w{1,40}\.send(?:line)?\([ \t]*"
    r"[bfru]{0,2}(?=\\?['\"])"
)
PLACES_OF_DIALOGUES = tuple(
    (sign, Regex(pattern, re.IGNORECASE if fold else 0))
    for sign, pattern, fold in (
        ("user", _AFTER_COMMAND, True),
        ("user", _BEFORE_COMMAND, True),
        ("ftp", _TO_FTP, True),
        ("ftp", rf"(?m){_OF_FTP}", True),
        ("lftp", _OF_LFTP, False),
        ("pass", _PASS, True),
        ("quote", _QUOTED_PASS, True),
        ("login", _OF_IMAP, False),
        ("authinfo", _OF_NEWS, True),
        ("auth", _AUTH_PLAIN, False),
        ("auth", _AUTH_LOGIN, False),
        ("auth", _OF_REDIS, False),
        *(("auth", pattern, False) for pattern in _TO_REDIS),
        ("setuser", _ACL_OF_REDIS, True),
        ("addauth", _DIGEST, False),
        ("addent", _OF_KEYTAB, False),
        ("pass", _OF_FETCHMAIL, False),
        ("*", _OF_CHAP, False),
        ("xauth", _OF_VPN, True),
        ("ipsec", _OF_VPN, True),
        ("server:", _PSERVER, False),
        ("user", _MOUNTED, False),
        ("passphrase", _OF_SNMP[0], True),
        ("createuser", _OF_SNMP[1], False),
        ("invalid", _REFUSED, True),
        ("password", _SET_TO, True),
        ("password", _WITH_PASSWORD, True),
        ("password", _TO_PASSWORD, True),
        ("password", _SET_FOR, True),
        ("identified", _IDENTIFIED, True),
        ("pragma", _PRAGMA, True),
        ("secret", _OF_SECRET, True),
        *((name, _OF_CALL, True) for name in ("auth(", "password(", "user(")),
        ("sql", _SQLPLUS, False),
        (".logon", _BTEQ, True),
        ("send", _SENDLINE, False),
    )
)
