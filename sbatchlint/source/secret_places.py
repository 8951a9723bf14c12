"""Where commands take a secret that has no name of its own: passwords of programs, headers, what a login reads."""

import re

from sbatchlint.source.regex import Regex
from sbatchlint.source.secret_addresses import NO_PASSWORD

# Where a secret is given without a name of its own: a sign, which the text has in small letters, and what precedes it.
_OPTION = r"(?:[^\n;|&\\]|\\.|\\\r?\n){0,300}?[ \t\"',]"
_SCHEME = r"(?:(?:bearer|basic|token|apikey|key|digest)[ \t]+)?"
_USER_OF_CURL = rf"\bcurl{_OPTION}(?:-[fsSLkvgiIjlnNpqaBGOR#0-6]{{0,9}}[uU]|--user|--proxy-user)[ \t=]*"
_OF_CURL = rf"{_USER_OF_CURL}['\"]?(?:[^\s:'\"]+:(?=\S)|:(?=[^\s'\"]))"
# A token in the place of a user's name, which has no password.
_LONE = rf"['\"]?(?!(?:anonymous|ftp|user\w*):)(?P<value>[^\s:'\"$@/]{{4,400}}):(?:{NO_PASSWORD})?(?=['\"\s]|\Z)"
_LONE_OF_CURL = rf"{_USER_OF_CURL}{_LONE}"
# What reads a secret from its standard input.
_READING = (
    r"(?:stdin\b|--ask-?pass(?:word|phrase)?\b|\brclone[ \t]+obscure\b"
    r"|\bvncpasswd\b|\biinit\b|\bsu[ \t]+(?:-[ \t]|-c|\w)"
    r"|\bsudo[ \t]+(?:[^\n;|&]{0,80}[ \t])?-\w*S\b|\bkinit\b|--with-token\b|[ \t]login(?=[ \t\r\n;&<]|\Z)"
    r"|\bchpasswd\b|\bcryptsetup\b|-passphrase-fd\b|\bkeyring[ \t]+set\b|\bsmbpasswd\b|\bmyproxy-\w+|-pwstdin\b"
    r"|(?:(?<=\| )|(?<=\|)|(?<=sudo )|(?<=\n)|(?<=; ))passwd(?=[ \t<])|\bkpasswd\b|\bsecret-tool[ \t]+store\b"
    r"|\bkeepassxc-cli\b|\bpass[ \t]+insert\b"
    r"|\bsecrets?[ \t]+(?:create|set|versions[ \t]+add)\b|\benv[ \t]+add\b"
    r"|\bactivate-refresh-token\b|\bmosquitto_passwd\b|\bhtpasswd[ \t]+-\w*i\b|\bssh-(?:add|keygen)\b|\bclearml-init\b"
    r"|\bjupyter(?:[ \t]+|-)(?:lab|notebook|server)[ \t]+password\b"
    r"|\b(?:restic|borg|kopia)[ \t]+(?:[^\n;|&<]{0,120}[ \t])?(?:init|mount|restore|check|prune|forget)\b"
    r"|\b(?:mc|mcli)[ \t]+(?:alias[ \t]+set|config[ \t]+host[ \t]+add)\b)"
)
_PRINTED = r"\b(?:echo|printf)[ \t]+(?:(?:--?[neE]*|['\"]?(?:%[sb](?:\\+n)?){1,3}['\"]?)[ \t]+)*"
_PIPED = (
    r"(?=['\"]?[^\s'\"]{2})(?=(?:'[^'\n]{1,400}'|\"[^\"\n]{1,400}\"|[^\n|'\"])[^\n|]{0,1000}"
    rf"\|[^\n|]{{0,200}}{_READING})"
)
# What is written to a file that is named for a secret.
_TO_FILE = (
    r"(?=['\"]?[^\s'\"]{0,60}\d)(?=['\"]?[^\s'\"$]{6,400}['\"]?[ \t]*>>?[ \t]*[^\s;|&]{0,200}"
    r"(?:token|secret|api_?key|[._]key\b|pass(?:w(?:or)?d|phrase)?\b|credentials?|id_(?:rsa|ed25519)))"
)
# The same where the file can be of nothing else; and the words of a text, of which a file may be, too.
_FILE_OF_SECRET = (
    r"(?![^\s;|&<>]{0,200}(?:eos|bos|pad|mask|sep|cls|unk|special|stop|start|end|next|last|first)_token)[^\s;|&<>]{0,200}"
    r"(?:token|secrets?|api_?key|[._-]key|pass(?:w(?:or)?d|phrase)?|[_.-]pwd?|credentials?)"
    r"(?:\.(?:txt|conf|cfg|ini|env|dat|key|cred))?['\"]?(?=[\s;|&)]|\Z)"
)
_ONE_WORD = r"(?:'[^\s'$<>]{4,400}'|\"[^\s\"$<>]{4,400}\"|[^\s'\"$<>;|&()]{4,400})"
_ALONE_TO_FILE = rf"(?={_ONE_WORD}[ \t]*(?:>>?|\|[ \t]*(?:sudo[ \t]+)?tee[ \t]+(?:-a[ \t]+)?)[ \t]*{_FILE_OF_SECRET})"
_HERE_TO_FILE = (
    rf"(?:>>?|\btee\b)[ \t]*{_FILE_OF_SECRET}[^\n<>]{{0,80}}"
    r"<<-?[ \t]*['\"\\]?\w{1,40}['\"]?[ \t]*(?:>[^\n<>]{1,80})?\r?\n"
    r"[ \t]*(?P<value>[^\s$<>]{4,400})[ \t]*\r?\n[ \t]*\w{1,40}[ \t]*(?:\r?\n|\Z)"
)
# The same for what reads it, with the mark of the heredoc before or after it on the line.
_HERE = r"\r?\n[ \t]*(?P<value>[^\s$<>]{4,400})[ \t]*\r?\n[ \t]*\w{1,40}[ \t]*(?:\r?\n|\Z)"
_TO_READING = rf"<<-?[ \t]*['\"\\]?\w{{1,40}}['\"]?[ \t]*\|[^\n<>]{{0,200}}?{_READING}[^\n<>]{{0,100}}{_HERE}"
# What a command begins with that reads what is beside it: without this, each letter of a text may be its beginning.
_HAS_HERE = r"(?m)(?:^|(?<=[;|&]))(?=[^\n]{0,600}<<)[^\n;|&]{0,300}?"
_READING_HERE = rf"{_HAS_HERE}{_READING}[^\n<>]{{0,100}}<<-?[ \t]*['\"\\]?\w{{1,40}}['\"]?[ \t]*{_HERE}"
_READ = (
    r"\bread\b[^\n;|&<]{0,80}?[ \t]\w{0,60}(?:TOKEN|KEY|SECRET|PASS(?:W(?:OR)?D|PHRASE)?|PWD|CREDENTIALS?)[ \t]*"
    r"<<-?[ \t]*['\"\\]?\w{1,40}['\"]?[ \t]*\r?\n[ \t]*(?P<value>[^\s$<>]{4,400})[ \t]*\r?\n"
)
# A format whose last conversion is of a secret, which is then the last word.
_OF_LAST = (
    r"\bprintf[ \t]+(?P<form>['\"])(?:(?!(?P=form))[^\n]){0,200}?(?:token|_key|secret|pass(?:w(?:or)?d|phrase)?|pwd?)"
    r"\\?['\"]?[ \t]*[=: ][ \t]*\\?['\"]?%[sqb](?:(?!(?P=form))[^\n%]){0,40}(?P=form)"
    r"(?:[ \t]+(?:'[^'\n]{0,80}'|\"[^\"\n]{0,80}\"|[^\s'\";|&<>]{1,80})){1,5}?[ \t]+"
    r"(?=(?:'[^'\n]{1,400}'|\"[^\"\n]{1,400}\"|[^\s'\";|&<>]{1,400})[ \t]*(?:[;|&<>\r\n]|\Z))"
)
# What ends a command, perhaps one within quotes.
_END = r"(?:['\"]{0,2}[ \t]*(?:[;|&)\r\n]|\Z))"
_OF_COMMAND = (
    r"^[^#\n]{0,300}?\b(?:config|modify)\b[^\n;|&]{0,120}?[ \t][\w.-]{0,80}"
    r"(?:token|_key|secret|passw(?:or)?d|_pass|passphrase)[ \t]+"
    rf"(?=(?P<quote>['\"]?)[^\s'\"$]{{6,400}}(?P=quote){_END})"
)
_OF_RCLONE = (
    r"\brclone[ \t]+config[ \t]+\w+[^\n;|&]{0,300}?[ \t]\w{0,60}(?:pass|password|secret|token|key)[ \t=]+(?=[^\s-])"
)
# What asks for a password and otherwise reads commands or an answer: a value of changing kinds is none of these.
_ASKING = (
    r"(?:\b(?:mysql|mariadb|psql|mongo|cypher-shell|sqlplus|redis-cli|cqlsh|smbclient)[\w.-]{0,20}[ \t]"
    r"[^\n;|&<]{0,200}?"
    r"(?<!\S)-{1,2}(?:[upUWa]|user(?:name)?|pass(?:word)?)"
    r"|\b(?:ssh|scp|sftp|sshpass|openconnect|openvpn|expect|unbuffer|telnet)[ \t]"
    r"|\b(?:7z[azr]?|unrar)[ \t]+[xetl]\b|\bunzip[ \t]|\bgpg2?[ \t][^\n;|&<]{0,120}?(?:-d|-c|--decrypt|--symmetric)\b"
    r"|\baws[ \t]+configure\b|\bgit[ \t]+credential\b|\bopenstack[ \t]|\bcurl[ \t][^\n;|&<]{0,120}?-K[ \t]*-"
    r"|\b(?:login|auth)\.(?:sh|py|exp)\b)"
)
_NO_COMMAND = (
    r"['\"]?(?P<value>(?=[A-Za-z0-9!@#%^&*+=/_-]{0,80}[0-9])(?=[A-Za-z0-9!@#%^&*+=/_-]{0,80}[A-Z])"
    r"(?=[A-Za-z0-9!@#%^&*+=/_-]{0,80}[a-z])(?=[A-Za-z0-9][^\s'\"]{7})(?![\w-]*/[\w/-]{0,400}['\"]?[ \t|])"
    r"[A-Za-z0-9!@#%^&*+=/_-]{8,400})['\"]?"
)
# An account and its password, as programs of one's own take them; of Slurm's commands `-p` is a partition.
_OF_PAIR = (
    r"(?m)^(?![^\n]{0,300}\bs(?:queue|acct|acctmgr|info|prio|share|cancel|batch|alloc|report)\b)[^\n]{0,300}?"
    rf"[ \t](?:-u|--?user(?:name)?)[ \t=]{{0,3}}[\w.@'\"-]{{1,80}}[ \t]+-p[ \t=]{{0,3}}{_NO_COMMAND}(?=\s|\Z)"
)
_PIPED_TO_ASKING = rf"(?=[ \t]*\|[ \t]*[^\n|;&]{{0,80}}?{_ASKING})"
_TO_BASE64 = r"(?=[^\s'\"]{3,400}['\"]?[ \t]*\|[ \t]*base64\b(?![ \t]+-\w*[dD]))"
_OF_HASH = r"(?:[ \t]+(?:-(?:salt|[mSRs])[ \t]+[^\s-]\S*|--?[\w=-]+)){0,6}"
_OF_ORACLE = (
    r"[ \t]+(?:(?:-\w+|target|catalog|connect)[ \t]+){0,4}['\"]?(?:userid=['\"]?)?\w{1,40}/"
    r"(?P<value>[^\s'\"]{1,200}?(?=@[\w./:-]{1,200}(?:['\"\s]|\Z))|[^\s@'\"$]{2,200})"
)
_USER_AND = r"\\?['\"][^'\"\n]{1,80}\\?['\"][ \t]*,[ \t]*(?:\w{1,20}[ \t]*=[ \t]*)?(?=\\?['\"])"
_METHOD = r"[\w.]{0,40}\.(?:init|login|start|Experiment|OfflineExperiment|add_app_token)"
_QUOTED_WORD = r"\\?['\"][^'\"\n]{1,80}\\?['\"][ \t]*,[ \t]*"
# A format whose first conversion is set to the name of a secret, and a verb with a name and a value after it.
_OF_FORMAT = (
    r"\bprintf[ \t]+(?:-v[ \t]+\w+[ \t]+)?(?P<format>['\"])(?:(?!(?P=format))[^\n%]){0,80}?"
    r"(?:token|key|secret|pass(?:w(?:or)?d|phrase)?|credentials?|jwt|[_-]pat|pw|pwd|_auth|_dsn)\\?['\"]?[ \t]*[=:]"
    r"[ \t]*\\?['\"]?%[sqb](?:(?!(?P=format))[^\n%]){0,80}(?P=format)[ \t]+(?=\S)"
)
# The second answer to `aws configure`, and a line that is added to a .netrc.
_TO_AWS = (
    r"\baws[ \t]+configure\b[^\n<]{0,80}<<-?[ \t]*['\"\\]?\w{1,40}['\"]?[^\n]{0,40}\n[^\n]{1,200}\n"
    r"[ \t]*(?P<value>[^\s$]{4,400})"
)
_PIPED_TO_AWS = r"\b\w{16,40}\\n(?P<value>[^\s'\"\\$]{4,200})(?=[^|\n]{0,100}\|[ \t]*aws[ \t]+configure\b)"
_TO_NETRC = (
    r"\b(?:echo|printf)[ \t]+(?:-\w+[ \t]+)?['\"]?(?:[^\n'\"]{0,200}[ \t])?password[ \t]+(?P<value>[^\s'\"\\$]{1,400})"
    r"(?=[^\n>]{0,20}>>?[ \t]*[^\s;]{0,200}netrc)"
)
_OF_VERB = (
    r"[^\n;|&]{0,120}?[ \t][\w.-]{0,80}(?:token|_key|secret|passw(?:or)?d|_pass|passphrase)[ \t]+"
    r"(?=['\"]?[^\s'\"]{0,60}\d)(?=['\"]?[^\s'\"]{6})"
)
_OF_KAGGLE = r"\"username\\?\"[ \t]*:[ \t]*\\?\"[^\"\n]{1,80}\"[ \t]*,\s*\\?\"key\\?\"[ \t]*:[ \t]*(?=\\?\")"
# Between the words of a .netrc, which may be written with escapes.
_BLANK = r"(?:[ \t\r\n]|\\[nt]){1,80}"
_OF_NETRC = rf"{_BLANK}(?:login|user|account){_BLANK}\\?[^\s'\"\\]{{1,200}}"
_OF_MACHINE = rf"\bmachine{_BLANK}[^\s'\"\\]{{1,200}}"
_PASSWORD_OF_NETRC = rf"{_BLANK}password{_BLANK}['\"]?(?P<value>[^\s'\"\\]{{1,400}})"
# What sed and perl put in the place of a name, or on its lines.
_NAME_IN_PATTERN = (
    r"(?:(?<![A-Za-z])|(?<=api))(?:token|key|secret|pass(?:w(?:or)?d|phrase)?|pwd|credentials?)(?![A-Za-z])"
)
_REPLACEMENT = r"(?=[^\s'\"]{0,80}[0-9!@%^])"
_OF_SED = (
    rf"(?<![\w$.-])s(?P<sign>[/|#,@!~:;%+])(?:(?!(?P=sign))[^\n]){{0,60}}?{_NAME_IN_PATTERN}"
    rf"(?:(?!(?P=sign))[^\n]){{0,8}}?(?P=sign){_REPLACEMENT}"
    r"(?P<value>(?:(?!(?P=sign))[^\s'\"$\\]){6,400})(?=(?P=sign))"
)
# The same for a name in capitals, which stands for a value of any kind.
_OF_CAPITALS = (
    r"(?<![\w$.-])s(?P<sign>[/|#,@!~:;%+])(?:(?!(?P=sign))[^\na-z]){0,60}?"
    r"(?:(?<![A-Z])|(?<=API|SSH|SQL)|(?<=DB|PG)|(?<=LDAP|SMTP|USER|MAIL))(?:TOKEN|KEY|SECRET|PASS(?:W(?:OR)?D|PHRASE)?)(?![A-Z])"
    r"(?:(?!(?P=sign))[^\na-z]){0,8}?(?P=sign)(?P<value>(?:(?!(?P=sign))[^\s'\"$\\]){4,400})(?=(?P=sign))"
)
_OF_BRACES = rf"\bs\{{[^{{}}\n]{{0,60}}?{_NAME_IN_PATTERN}[^{{}}\n]{{0,8}}\}}\{{(?P<value>[^\s{{}}'\"$]{{6,400}})\}}"
_OF_LINES = (
    rf"/[^/\n]{{0,60}}?{_NAME_IN_PATTERN}[^/\n]{{0,8}}/[ \t]*s(?P<sign>[/|#,@!~:;%+])(?:(?!(?P=sign))[^\n]){{0,60}}"
    rf"(?P=sign)[=: ]{{0,4}}{_REPLACEMENT}(?P<value>(?:(?!(?P=sign))[^\s'\"$\\]){{6,400}})(?=(?P=sign))"
)
# The elements of an array that is named for several.
_IN_ARRAY = (
    r"(?i:tokens|keys|secrets|passw(?:or)?ds)=\((?:[ \t]*[^\s()]{1,200}[ \t]+){%d}[ \t]*['\"]?"
    r"(?P<value>(?=[\w+/=.-]{0,80}[0-9])(?=[\w+/=.-]{0,80}[a-z])(?=[\w+/=.-]{0,80}[A-Z])[\w+/=.-]{20,400})"
)
# Words before a secret which are as often words of a sentence.
WORDS_OF_SENTENCES = frozenset({"bearer", "basic ", "token "})
PLACES = tuple(
    (sign, Regex(pattern, re.IGNORECASE if fold else 0))
    for sign, pattern, fold in (
        ("authorization", rf"authorization\\?['\"]?\]?[ \t]*[:=,][ \t]*\\?['\"]?{_SCHEME}", True),
        ("authorization", rf"--?authorization[ \t]+['\"]?{_SCHEME}(?=[^\s-])", True),
        ("bearer", r"\bbearer[ \t:]+(?=[\w.~+/=-]{0,60}\d)(?=[\w.~+/=-]{8})", True),
        ("basic ", r"\bbasic[ \t]+(?=[\w.~+/=-]{0,60}\d)(?=[\w.~+/=-]{12})", True),
        ("token ", r"\btoken[ \t]+(?=[\w.~+/=-]{0,60}\d)(?=[\w.~+/=-]{12})", True),
        ("mysql", rf"\bmysql[\w.-]*{_OPTION}-p(?=[^\s'\"]|['\"]\S)", False),
        ("mariadb", rf"\bmariadb[\w.-]*{_OPTION}-p(?=[^\s'\"]|['\"]\S)", False),
        ("7z", rf"\b7z[ar]?{_OPTION}-p(?=\S)", False),
        ("login", rf"\blogin{_OPTION}-p[ \t=]*(?=\S)", False),
        ("login", r"\blogin[ \t]+(?:-[\w-]+[ \t]+)*-k[ \t=]*(?=['\"]?\w{0,60}\d)(?=['\"]?\w{16})", False),
        ("ldap", rf"\bldap\w+{_OPTION}-[xLvZ]{{0,6}}w[ \t]*(?=\S)", False),
        ("zip", rf"\b(?:un)?zip{_OPTION}-[a-zA-Z]{{0,6}}P[ \t]*(?=\S)", False),
        ("curl", _OF_CURL, False),
        ("curl", rf"{_USER_OF_CURL}'[^\s:'\"]+:(?P<value>[^\s'$][^'\n$]{{0,400}})(?=')", False),
        ("curl", rf"{_USER_OF_CURL}\"[^\s:'\"]+:(?P<value>[^\s\"$\\][^\"\n$\\]{{0,400}})(?=\")", False),
        ("curl", rf"\bcurl{_OPTION}(?:-b|--cookie)[ \t=]*['\"]?[\w.-]{{1,80}}=(?=\S)", False),
        ("curl", rf"{_USER_OF_CURL}(?:'[^\s:']{{1,80}}'|\"[^\s:\"]{{1,80}}\"):(?=\S)", False),
        ("curl", _LONE_OF_CURL, False),
        ("http", rf"\bhttps?[ \t][^\n;|&]{{0,200}}?(?:-a|--auth)[ \t=]*{_LONE}", False),
        ("http", r"\bhttps?[ \t][^\n;|&]{0,200}?-a[ \t]+['\"]?[\w.@-]{1,80}:(?=[^\s'\"])", False),
        ("curl", rf"\bcurl{_OPTION}-[fsSLkvgi]{{0,6}}E[ \t]*['\"]?[^\s:'\"]{{1,200}}:(?=[^\s'\"\\/])", False),
        ("--cert", r"--(?:proxy-)?cert[ \t=]*['\"]?[^\s:'\"]{1,200}:(?=[^\s'\"\\])", False),
        ("creds", r"--(?:src-|dest-)?creds[ \t=]+['\"]?[^\s:'\"]{1,80}:(?=[^\s'\"])", False),
        ("cookie:", r"\bcookie:[ \t]*[\w.-]{1,80}=(?=\S)", True),
        ("add-mask", r"::add-mask::(?=[^\s$])", False),
        ("-bearer", r"--oauth2-bearer[ \t=]+(?=\S)", False),
        ("auth", r"--(?:(?:http|proxy|basic)-)?auth[ \t=]+['\"]?[\w.@-]{1,80}:(?=\S)", False),
        ("lftp", rf"\blftp{_OPTION}-u[ \t]*['\"]?[^\s,'\"]{{1,80}},(?=\S)", False),
        ("xfreerdp", rf"\bxfreerdp{_OPTION}/p:(?=\S)", False),
        ("pwd", r"=[^=;'\"\n]{1,200};[ \t]?pwd[ \t]?=[ \t]?(?P<value>(?![/$~.])[^;'\"\s]{1,400})", True),
        ("/t/", r"https?://[^\s/'\"]{1,200}/t/(?P<value>[^\s/'\"$<{]{6,400})(?=/)", False),
        ("send", r"p?ass(?:word|wd|phrase)\b[^\n;]{0,40}[;\n][ \t]*send[ \t]+(?:--[ \t]+)?(?=\\?[\"'])", True),
        ("pgpass", r"(?m)(?:^|(?<=['\"]))[\w.*-]{1,80}:(?:\d{2,5}|\*):[\w.*-]{1,80}:[\w.*@-]{1,80}:(?=\S)", False),
        *(
            (program, rf"\b{program}\w*{_OPTION}-U[ \t]*['\"]?[^\s%'\"]{{1,80}}%(?=[^\s'\"])", False)
            for program in ("smb", "rpcclient", "winexe", "wmic")
        ),
        (".py", r"\.py[ \t]+['\"]?[\w.-]{1,60}/[\w.-]{1,60}:(?P<value>[^\s'\"]{1,200})@(?!sha\d)(?=[\w.-])", False),
        ("dba", r"\bisql[\w-]*[ \t]+(?:\S{1,80}[ \t]+)?dba[ \t]+(?=[^\s$-])", False),
        ("-u", r"(?<!\S)-U[ \t]*['\"]?[^\s%'\"]{1,80}%(?=[^\s%'\"]{4})", False),
        ("pw ", r"(?<!\S)-[uo]pw[ \t]+(?=\S)", False),
        ("sendemail", rf"\bsendemail{_OPTION}-xp[ \t]+(?=\S)", True),
        ("gh secret", rf"\bgh[ \t]+secret{_OPTION}(?:-b|--body)[ \t=]*(?=\S)", False),
        ("htpasswd", r"\bhtpasswd[ \t]+(?:-[\w-]+[ \t]+)*?-(?=\w*n)\w*b\w*[ \t]+\S+[ \t]+(?=[^\s-])", False),
        ("htpasswd", r"\bhtpasswd[ \t]+(?:-[\w-]+[ \t]+)*?-\w*b\w*[ \t]+[^\s-]\S*[ \t]+\S+[ \t]+(?=\S)", False),
        ("passwd", rf"\b(?:openssl[ \t]+|mk)passwd{_OF_HASH}[ \t]+(?=['\"]?[^\s'\"|&;<>$-])", False),
        *(
            (program, rf"\b{program}{_OF_ORACLE}", False)
            for program in ("sqlplus", "sqlldr", "expdp", "impdp", "rman", "sqlcl")
        ),
        ("rclone", _OF_RCLONE, False),
        ("rclone", r"\brclone[ \t]+obscure[ \t]+(?=['\"]?[^\s'\"-])", False),
        ("identified", r"\bidentified[ \t]+(?:with[ \t]+\S+[ \t]+)?by[ \t]+(?:password[ \t]+)?(?=\\?['\"])", True),
        ("password", r"\b(?:with|encrypted|login|user[ \t]+\S{1,80})[ \t]+password[ \t]+(?=\\?['\"][^\s'\"]{3})", True),
        *((program, pattern, True) for program in ("sed", "perl") for pattern in (_OF_SED, _OF_BRACES, _OF_LINES)),
        *((program, _OF_CAPITALS, False) for program in ("sed", "perl")),
        *(("s=(", _IN_ARRAY % before, False) for before in range(4)),
        ("/webhooks/", r"/api/webhooks/\d{5,25}/(?=[^\s'\"/$])", False),
        ("/bot", r"/bot\d{5,15}:(?P<value>[\w-]{8,200})", False),
        ("slack.com/", r"hooks\.slack\.com/(?:services|workflows)/\w+/\w+/(?=[^\s'\"$])", False),
        ("kaggle", r"\bkaggle[ \t]+config[ \t]+set[ \t]+-n[ \t]+key[ \t]+-v[ \t]+(?=\S)", False),
        ("_auth", r":_(?:authToken|auth|password)[ \t]+(?=\S)", False),
        ("<(", rf"(?:pass\w*|token|secret|key)[\w-]{{0,10}}[ \t=]+<\([ \t]*{_PRINTED}(?=\S)", True),
        ("<(", rf"\b(?:sshpass|restic)\b{_OPTION}-[fp][ \t]*<\([ \t]*{_PRINTED}(?=\S)", False),
        ("userid=", r"\buserid=['\"]?\w{1,40}/(?P<value>[^\s@'\"$]{2,200})", True),
        ("aws configure", _TO_AWS, False),
        ("aws configure", _PIPED_TO_AWS, False),
        ("netrc", _TO_NETRC, False),
        ("ftp", r"\bftp\b[^\n<]{0,100}<<<[ \t]*['\"]user[ \t]+\S{1,80}[ \t]+(?=\S)", False),
        ("expect", r"\bexpect[ \t]+-c[^\n]{0,300}?\bsend[ \t]+(?:--[ \t]+)?(?=\\?[\"'])", False),
        ("base64", rf"{_PRINTED}(?=['\"]?[\w+/=]{{8,4000}}['\"]?[ \t]*\|[ \t]*base64[ \t]+-(?:d|D|-decode))", False),
        ("pass:", r"-pass\w*[ \t=]+['\"]?pass:", False),
        ("--token", r"--token(?:=|[ \t]+)(?=[^\s-])", False),
        ("token", r"\btoken\\?['\"]?[=:][ \t]*(?=\\?['\"]?[\w.~+/=-]{0,60}\d)(?=\\?['\"]?[\w.~+/=-]{8})", True),
        ("login(", r"\blogin\([ \t]*(?:(?:api_)?(?:key|token)[ \t]*=[ \t]*)?(?=\\?['\"])", False),
        ("login(", rf"\blogin\([ \t]*(?:\w{{1,20}}[ \t]*=[ \t]*)?{_USER_AND}", False),
        *(
            (name, rf"\b{name}{_METHOD}\([ \t]*(?=\\?['\"])", False)
            for name in ("comet_ml", "dagshub")
        ),
        ("comet_ml", r"\bcomet_ml\b[^\n]{0,80}\bExperiment\([ \t]*(?=\\?['\"])", False),
        ("neptune", rf"\bneptune\.init\w{{0,20}}\([ \t]*{_QUOTED_WORD}(?=\\?['\"])", False),
        ("ftp", rf"\bS?FTP(?:_TLS)?\([ \t]*{_QUOTED_WORD}{_QUOTED_WORD}(?=\\?['\"])", False),
        ("neo4j_auth", r"\bNEO4J_AUTH=['\"]?\w{1,40}/(?=[^\s'\"$])", False),
        ("auth", rf"(?:\bauth[ \t]*=[ \t]*|BasicAuth|DigestAuth)\([ \t]*{_USER_AND}", True),
        ("machine", rf"{_OF_MACHINE}(?:{_OF_NETRC}){{1,3}}{_PASSWORD_OF_NETRC}", False),
        ("machine", rf"{_OF_MACHINE}{_PASSWORD_OF_NETRC}(?={_OF_NETRC})", False),
        ("default", rf"\bdefault(?:{_OF_NETRC}){{1,3}}{_PASSWORD_OF_NETRC}", False),
        ("<<<", rf"{_HAS_HERE}{_READING}[^\n;|&<]{{0,200}}<<<[ \t]*(?=\S)", False),
        ("<<<", rf"<<<[ \t]*(?={_ONE_WORD}[ \t]*>>?[ \t]*{_FILE_OF_SECRET})", True),
        ("<<", _HERE_TO_FILE, True),
        ("<<", _READ, True),
        ("<<", _TO_READING, False),
        ("<<", _READING_HERE, False),
        ("anaconda", rf"(?<![\w/-])anaconda(?=[ \t]){_OPTION}(?:-t|--token)[ \t=]+(?=\S)", False),
        ("|", _PRINTED.replace("printf", "printf|yes") + _PIPED, False),
        ("|", _PRINTED + _NO_COMMAND + _PIPED_TO_ASKING, False),
        ("<<<", rf"{_HAS_HERE}{_ASKING}[^\n;|&<]{{0,200}}<<<[ \t]*{_NO_COMMAND}(?=[\s;|&>)]|\Z)", False),
        ("<(", rf"<\([ \t]*{_PRINTED}{_NO_COMMAND}[ \t]*\)", False),
        ("-u", _OF_PAIR, False),
        ("base64", rf"{_PRINTED}['\"]?[\w.@-]{{1,80}}:{_TO_BASE64}", False),
        ("base64", r"\bbase64(?:[ \t]+-w[ \t]*\d+)?[ \t]*<<<[ \t]*['\"]?[\w.@-]{1,80}:(?=[^\s'\"])", False),
        (">", _PRINTED + _TO_FILE, True),
        (">", _PRINTED + _ALONE_TO_FILE, True),
        ("tee", _PRINTED + _ALONE_TO_FILE, True),
        ("printf", _OF_FORMAT, True),
        ("printf", _OF_LAST, True),
        *((verb, rf"(?m){_OF_COMMAND.replace('config|modify', verb)}", True) for verb in ("config", "modify")),
        *((verb, rf"\b{verb}\b{_OF_VERB}", True) for verb in ("config", "modify")),
        ("aws configure", r"\baws[ \t]+configure[ \t]+set[ \t]+\S{0,80}(?:key|token)[ \t]+(?=\S)", False),
        ("setenv", r"\bsetenv[ \t]+\w{0,80}(?:token|key|secret|password|passwd)[ \t]+(?=[^\s/$])", True),
        ("openssl", rf"\bopenssl{_OPTION}-[kK][ \t]+(?=\S)", False),
        ("sig=", r"[?&]sig=", False),
        ("x-amz-", r"x-amz-(?:signature|credential|security-token)=", True),
        ('"key"', r"\"key\"[ \t]*:[ \t]*(?=\"[a-f0-9]{32}\")", False),
        ("username", _OF_KAGGLE, False),
        ('"auth"', r"\"auth\"\s{0,80}:\s{0,80}(?=\"(?:[\w+/=]{8}|[\w+/]{2}[\w+/=]{2}\"))", False),
    )
)  # fmt: skip
