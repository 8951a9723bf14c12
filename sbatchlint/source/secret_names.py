"""Names of secrets: of variables, settings and options."""

import re
from functools import lru_cache

from sbatchlint.source.regex import Regex

_SERVICES = (
    "WANDB|HF|HUGGING_?FACE|OPENAI|ANTHROPIC|GEMINI|COHERE|MISTRAL|REPLICATE|TOGETHER|COMET|NEPTUNE|NGC|AZURE|AWS|S3"
    "|GITHUB|GITLAB|STORAGE|ACCOUNT|ENCRYPTION|SIGNING|LICENSE|MASTER|CONSUMER|DEPLOY|ENC|ST|SUBSCRIPTION|FERNET|ADMIN"
)
# Words run together count as those with underscores between them.
NAMES = Regex(
    r"\w*(?:TOKEN|API_?KEY|SECRET(?:_?(?:ACCESS_?)?KEY)?|ACCESS_?KEY|AUTH_?KEY|PASS_?KEY|(?<!NO)(?<!NO_)PASSWO?R?D"
    r"|PASSPHRASE|CREDENTIALS?|JWT)"
    rf"|(?:\w*(?:_|(?-i:[a-z](?=[A-Z]))))?(?:(?:{_SERVICES})_?KEY|(?:GH|GITHUB|GITLAB)_?PAT"
    r"|(?:DB|SQL|MYSQL|PG|POSTGRES|MONGO|REDIS|USER|LDAP)_?PASS)"
    r"|SSHPASS|(?:\w+_)?PW|(?:ZIP|RAR|MY|DB|SSH|SMB|VNC|SQL|LDAP|USER|LOGIN|MAIL|SMTP|S?FTP|KRB|VPN|PG)PW|(?:BW|OP)_SESSION\w*",
    re.IGNORECASE,
)
# Tokens of a text, and words that merely end so.
TEXT_TOKENS = Regex(
    r"(?:\w*_)?(?:EOS|BOS|PAD|MASK|SEP|CLS|UNK|SPECIAL|IMAGE|VIDEO|AUDIO|START|STOP|END|NEW|PER|NUM|N|MAX|MIN|TRAIN|EVAL"
    r"|PROMPT|NEXT|LAST|FIRST|CANCEL|REMOVE|EXTRA|STOPPING|TRIGGER|CHAT|ENTITY|CLASS|INPUT|OUTPUT|SUB|PRE|BLANK)_?TOKEN",
    re.IGNORECASE,
)
# In small letters a token is a word of a text, unless the name says who gives it out, or what it opens.
_GIVEN_OUT = Regex(
    rf"(?:\w+_)?(?:{_SERVICES}|HUB|API|APP|APPLICATION|AUTH|OAUTH|BEARER|BOT|CSRF|DOCKER|GIT|GH|JUPYTER|LOGIN|MY|NOTEBOOK"
    r"|NPM|PERSONAL|PRIVATE|PYPI|REFRESH|SERVICE|SLACK|TELEGRAM|USER|VAULT|(?:\w*_)?ACCESS|REGISTRATION|REMOVAL"
    r"|ENROLL?MENT|JOIN|BOOTSTRAP|SESSION|TEMP(?:ORARY)?|ONE_?TIME|SINGLE_?USE)_?TOKEN",
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
    if NAMES.fullmatch(name) is None or TEXT_TOKENS.fullmatch(name) is not None or name == "token":
        return False
    return not (name.islower() and name.endswith("token")) or _GIVEN_OUT.fullmatch(name) is not None


def is_short_lived(name: str) -> bool:
    """Whether a secret of this name is worth little once it was used."""
    return _SHORT_LIVED.fullmatch(name) is not None


# Names that may hold a secret, besides those of `is_secret`; a bare `token` is one of many things.
MORE_NAMES = Regex(
    r"\w*(?:password|passwd|passphrase|secret|api_?key|access_?token|auth_?token|account_?key|accesskey|private_?key)"
    r"|\w*(?:pass_?code|pswd|passwrd|passwort|kennwort|motdepasse|mot_de_passe|contrasen?a|senha|wachtwoord|parola)"
    r"|(?:secret|api|access)_?keys|(?:\w+_)?(?:passwords|secrets)"
    r"|\w*pass|\w*pwd|(?:\w+_)?kaggle_key|(?:\w+_)?o?auth|\w+_dsn|private_token|\w+_pat|\w*(?:bind|root)_?pw|macaroon|\w*pre_?shared_?key|(?:\w+_)?psk",
    re.IGNORECASE,
)
# Words that end like a name of these, and mean something else.
_OTHER_WORDS = Regex(
    r"(?:\w*_)?(?:by|(?:en)?com|tres|sur|over|under|high|low|band|all|first|second|last|one|two|multi|single|sub|pre|post"
    r"|forward|backward|render|num|max|min|n|non|not)_?pass|(?:old|no)_?pwd|no_?passw(?:or)?d|\w*pull_?secrets",
    re.IGNORECASE,
)
# Names of which only what was drawn may be a secret: the key of some service, and none that is public or sorts.
KEY_NAMES = Regex(
    r"(?!\w*(?:PUBLIC|PUB|CACHE|SORT|PRIMARY|FOREIGN|HOST|GROUP|PARTITION)_?KEY)\w*KEY"
    r"|(?:\w+_)?(?:COOKIE|SESSION_?ID|HMAC|SIGNATURE)|\w+_(?:SAS|SIG)|(?:\w+_)?(?:(?:ACCESS|AUTH|RECOVERY|BACKUP|OTP|MFA)_?CODE|PAT|DSN|SECRET_?ID|(?:OTP|MFA)_?SEED)",
    re.IGNORECASE,
)
# How one logs in, where `--auth` and `REDIS_AUTH` may as well have what one logs in with.
METHODS = Regex(
    r"(?i)(?:any|none|anonymous|anyauth|api[_-]?key|basic|bearer|cas|cert(?:ificate)?s?|default|digest|disabled|enabled|external|file|gssapi"
    r"|hostbased|htpasswd|https?|iam|ident|keyboard-interactive|kerberos|krb(?:5[ip]?)?|ldaps?|local|login|md5|mfa|mtls|munge|negotiate"
    r"|ntlm|oauth\d?|off|oidc|on|optional|pam|passw(?:or)?d(?:-?file)?|peer|plain|public-?key|radius|required|saml|sasl|simple|slurm|ssh"
    r"|ssl|sso|system|tls|token|trust|user|x509"
    r"|(?:(?:scram|cram|digest|hmac|aws|ntlm|oauth|tls|ssl|krb|kerberos|saml|snmp|smb|ldap|http)[_-]?){0,3}(?:md5|sha-?\d{1,3}|sigv?4|v\d|v?\d\.\d))(?:[_/+-](?:auth|login|plain|plus|only))?:?"
)
_CAMEL = Regex("(?<=[a-z0-9])(?=[A-Z])")


def words_of_name(written: str) -> str:
    """A name with underscores between its words, however an option, a property or a variable writes it."""
    return _CAMEL.sub("_", written.lstrip("-").replace("-", "_"))


def may_name_secret(name: str) -> bool:
    """Whether what is set to such a name may be a secret: even where only what was drawn is one."""
    if not any(pattern.fullmatch(name) for pattern in (NAMES, MORE_NAMES, KEY_NAMES)):
        return False
    return _OTHER_WORDS.fullmatch(name) is None
