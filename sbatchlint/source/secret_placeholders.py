"""Words that stand where a secret is to be written: `YOUR_TOKEN`, `<your api key>`, `ada@example.org`."""

import re
from functools import lru_cache

from sbatchlint.source.regex import Regex

# Words for what is to be written there, or of a protocol.
TO_FILL_IN = frozenset({
    "your", "my", "the", "user", "username", "name", "login", "token", "access", "api", "auth", "oauth", "oauth2",
    "pass", "password", "key", "git", "gitlab", "github", "ci", "x", "deploy", "personal", "private", "id", "secret",
    "here", "example", "changeme", "anonymous", "ftp",
})  # fmt: skip
# Those that say so, and what may stand beside them in one word: `yourpasswordhere`.
_SAYING = frozenset({"your", "example", "changeme", "change_me"})
_BESIDE_NAMES = (
    "own new real actual very long strong secure random please this that with to of for in at a an id s wandb hf"
    " huggingface openai anthropic comet neptune slurm aws azure gcp google slack docker ngc conda db database smtp"
    " mail email account project org host server domain site com passwd passphrase pwd pw keys tokens secrets"
    " credential credentials value string text goes insert put replace client app service bot session uuid hash code _"
)
_BESIDE = frozenset(_BESIDE_NAMES.split())
_WORDS = _SAYING | _BESIDE | (TO_FILL_IN - {"x"})
_LONGEST = max(map(len, _WORDS))
_CAMEL = Regex("(?<=[a-z])(?=[A-Z])")
_SAID = Regex("|".join(sorted(_SAYING)))
_FEW_SIGNS = Regex(r"[\w\s.,:/<>{}()\[\]@=?&-]{1,400}")
_PART = Regex(r"[A-Za-z0-9]+")
# A word as people write one, in which capitals begin words, and what has a digit: `oauth2`, `x509`, or a number.
_WRITTEN = Regex(
    r"[a-z]{1,40}|[A-Z]{1,40}|[a-z]{0,20}(?:API|ID|URL|HF|NGC|AWS|DB|[A-Z][a-z]{1,20}){1,8}"
    r"|[A-Za-z]{1,7}[0-9]{1,3}|[0-9]{1,4}|0?123[0-9]{0,8}(?:abc[a-f]{0,4})?|0{1,40}"
)
_BLANKED = Regex(r"(?i)\*\*\*|x{5}")


@lru_cache(maxsize=512)
def is_placeholder(value: str) -> bool:
    """Whether a value is made of words, and one of them says that another is to be written there.

    A word in another one, among digits or in letters of changing case is there by chance, or a part of a password.
    """
    if _BLANKED.search(value) is not None:
        return True
    if _SAID.search(value.lower()) is None or _FEW_SIGNS.fullmatch(value) is None:
        return False
    parts = _PART.findall(value.replace("_", " "))
    return all(map(_WRITTEN.fullmatch, parts)) and any(map(_says_so, parts))


def _says_so(part: str) -> bool:
    word = _CAMEL.sub("_", part).lower()
    return _SAID.search(word) is not None and _is_made_of_words(word)


def _is_made_of_words(text: str) -> bool:
    ends = [0]  # of texts that are made of words
    for end in range(1, len(text) + 1):
        if any(end - start <= _LONGEST and text[start:end] in _WORDS for start in ends):
            ends.append(end)
    return ends[-1] == len(text)


def is_filled_in_later(name: str) -> bool:
    """Whether a name is made of words for what is to be written there, or of words of a protocol."""
    return all(part in TO_FILL_IN for part in re.split(r"[_-]+", name.lower()) if part)
