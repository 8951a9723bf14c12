"""Programs that take a secret as one of their words: after which options, at which place, or after which other words.

A table has what each program takes, in one form for all, and one reader of command lines finds it.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from sbatchlint.source.numbers import parse_integer
from sbatchlint.source.regex import Regex
from sbatchlint.source.secret_values import WORDLIKE
from sbatchlint.source.secret_words import to_end_of_word, value_at


class Program(NamedTuple):
    """Programs that take a secret in the same way; `*` at the end of a name: more letters may follow.

    `verbs`: the first words beside options, one of these. `options`: those before a secret, `-p+` where it may follow
    at once whatever it looks like, `-u:` or `-U%` where it is after this sign. `words`: which words after the
    verb are secrets, from 1, `1:` as above. `after`: words before a secret. `others`: options with a value that is
    none. `needs`: an option without which none of this holds.
    """

    names: str
    options: str = ""
    verbs: tuple[str, ...] = ("",)
    words: str = ""
    after: str = ""
    others: str = ""
    needs: str = ""


PROGRAMS = (
    # databases
    Program("beeline cqlsh mycli cypher-shell hdbsql couchbase-cli cbq cbbackupmgr mongo*", "-p+ --password"),
    Program("sqlcmd osql bcp tsql fisql mclient cbc-*", "-P+"),
    Program("vsql", "-w+"),
    Program("nzsql", "-pw"),
    Program("neo4j-admin", verbs=("dbms set-initial-password", "set-initial-password"), words="1"),
    Program("arango*", "--server.password"),
    Program("etcdctl", "--user:", ("user add",), "1:", others="--endpoints --cacert --cert --key"),
    Program("etcdctl", "--user:"),
    Program("redis-cli redis-benchmark valkey-cli keydb-cli", "-a+ --pass"),
    Program("iredis", "-a"),
    Program("influx", "-password -t+ --token"),
    Program("influx", "-p --password", ("setup", "user create", "user password")),
    Program("db2", verbs=("connect",), after="using"),
    Program("mysqladmin mariadb-admin", after="password", others="-u -h -P -S"),
    Program("isql iusql", words="3", others="-x -m -d"),
    Program("synapse", "-p+ --password"),
    # accounts
    Program("useradd usermod", "-p+"),
    Program("mosquitto_passwd", words="3", needs="-b"),
    Program(
        "rabbitmqctl",
        verbs=("add_user", "change_password", "authenticate_user"),
        words="2",
        others="-n --node -p --vhost",
    ),
    Program("rabbitmqadmin", "-p --password"),
    Program("samba-tool", verbs=("user create", "user add"), words="2"),
    Program("net", verbs=("user", "ads user add", "rpc user add", "rpc password"), words="2", others="-S -U -W"),
    Program("ldappasswd", "-s -a"),
    Program("kadmin kadmin.local", "-w -pw"),
    Program("addprinc cpw change_password ank", "-pw"),
    Program("vault bao", verbs=("login",), words="1", others="-method -path"),
    Program("wandb", verbs=("login",), words="1", others="--host --entity --base-url"),
    Program("cargo", verbs=("login",), words="1", others="--registry"),
    Program("conda", verbs=("token set",), words="1"),
    Program(
        "vault bao",
        verbs=("operator unseal", "unseal", "unwrap", "token lookup", "token renew", "token revoke"),
        words="1",
    ),
    Program("bw", verbs=("login",), words="2", others="--method --code"),
    Program("bw", verbs=("unlock",), words="1"),
    Program("keyctl", verbs=("add user", "add logon"), words="2"),
    Program("security", "-w", ("add-generic-password", "add-internet-password")),
    Program("ansible-vault", verbs=("encrypt_string",), words="1", others="-n --name --vault-id --vault-password-file"),
    Program("pulumi", verbs=("config set",), words="2", others="-s --stack", needs="--secret"),
    Program("snyk", verbs=("auth",), words="1"),
    Program("doctl vercel flyctl", "-t --token --access-token"),
    Program("glab", "-t --token", ("auth login",)),
    Program("grafana-cli grafana", verbs=("admin reset-admin-password", "cli admin reset-admin-password"), words="1"),
    Program("elasticsearch-users", "-p"),
    Program("caddy", "-p --plaintext", ("hash-password",)),
    Program("filebrowser", verbs=("users add",), words="2"),
    Program("wpa_passphrase", words="2"),
    Program("radtest", words="2 5"),
    Program("nmcli", after="password psk wifi-sec.psk 802-11-wireless-security.psk 802-1x.password wep-key0"),
    Program("x11vnc", "-passwd -viewpasswd"),
    Program("x11vnc", words="1", needs="-storepasswd"),
    Program("iinit grbgetkey", words="1"),
    Program("iadmin", verbs=("moduser",), after="password"),
    Program("iget iput ils", "-t"),
    Program("gocmd", "-T --ticket"),
    Program("ascp", "-W"),
    Program("globusconnect globusconnectpersonal globus-connect-personal", "-setup --setup-key"),
    Program("wolframscript", "-activate"),
    Program("ngrok", verbs=("authtoken", "config add-authtoken"), words="1"),
    Program("op", verbs=("signin",), words="3"),
    Program("openfortivpn", "-p+ --password"),
    Program("mc mcli", verbs=("admin user add",), words="3", others="-C --config-dir"),
    Program("mc mcli", verbs=("config host add",), words="4", others="-C --config-dir"),
    Program("mc mcli", verbs=("alias set",), words="4", others="-C --config-dir"),
    Program("swift", "-K+ --key"),
    Program("hadoop", "-value", ("credential create",)),
    # other computers
    Program("net", "-U%"),
    Program("smbclient", words="2", others="-U -c -W -I -p -D -A -m -t -n -k --user"),
    Program("plink pscp psftp putty klink", "-pw"),
    Program("sshpass rdesktop racadm redfishtool sftpgo ipmipower ipmi-power ipmiconsole ncftp* smbget", "-p+"),
    Program("ssh-keygen", "-N+ -P+"),
    Program("ipmitool mosquitto_pub mosquitto_sub mosquitto_rr", "-P+"),
    Program("snmpget snmpwalk snmpset snmpbulkwalk snmptrap snmpinform", "-A -X"),
    Program("swaks", "-ap"),
    Program("ab", "-A:"),
    Program("xh xhs hey miniserve dufs", "-a: --auth:"),
    Program("ntfy", "-u: --user: -k --token"),
    Program("ttyd gotty", "-c: --credential:"),
    Program("lynx", "-auth: -pauth:"),
    Program("p4", "-P", others="-p -u -c"),
    Program("conan", "-p+ --password", ("user", "remote login"), others="-r --remote"),
    Program("oras twine yt-dlp youtube-dl", "-p+ --password"),
    Program("composer poetry", verbs=("config http-basic.*",), words="2"),
    Program("poetry", verbs=("config pypi-token.*",), words="1"),
    Program("pdm", "-P", ("publish",)),
    Program("uv", "-p -t", ("publish",)),
    Program("hatch", "-a", ("publish",)),
    Program("nuget", "-ApiKey -Password"),
    Program("dotnet", "-k -p --password", ("nuget push", "nuget add source")),
    # files
    Program("rar unrar steghide aescrypt veracrypt truecrypt kopia", "-p+"),
    Program("ccrypt ccencrypt ccdecrypt", "-K --key"),
    Program("mcrypt mdecrypt", "-k --key"),
    Program("msoffcrypto-tool", "-p+ --password"),
    Program("openssl", "-hmac"),
    Program("qpdf", words="1 2", needs="--encrypt"),
    Program("pdftk", after="user_pw owner_pw input_pw"),
    Program("arj", "-g"),
)
_SIGNS = "+:%"
_BETWEEN = (":", "%")
_BLANKS = Regex(r"[ \t]*(?:\\\r?\n[ \t]*)*")
_REDIRECTION = Regex(r"[0-9]{0,2}(?:<|>>?)&?[ \t]*(?=[^\s<>(])")
# A word, in which quotes may begin and end.
_WORD = Regex(r"(?:'[^'\n]{0,2000}'|\"(?:\\[^\n]|[^\"\\\n]){0,2000}\"|\\[^\n]|[^\s;|&<>()'\"\\`]){1,2000}")
_UNENDED = Regex(r"['\"][^\s;|&<>()'\"\\`]{1,400}")
_MOST_WORDS = 60
# Options stand before a verb, and their values, which the table does not tell of.
_BEFORE_VERB = 3
_PLAIN = Regex("[a-z-]+")
_VALUE = Regex("[A-Za-z0-9].*[^.…]")
_SETTING = Regex(r"[a-z_]{2,40}=[^=]")
# What is before the first word of a command.
_FIRST = Regex(
    r"(?:^|[\n;&|({`]|(?:--wrap[= ]|[ \t]-l?c[ \t]{1,4})\\?['\"])[ \t]*"
    r"(?:(?:sudo|srun|exec|env|time|nohup|then|do|else|if|!|python[0-9.]{0,5}|uv|poetry|pipenv|run"
    r"|-\S{1,40}|\w{1,40}=\S{0,80})[ \t]+){0,9}"
    r"(?:[\w./~$-]{0,60}/)?\Z"
)


class _Word(NamedTuple):
    """A word without the quotes around it, where it begins, and where its text does."""

    text: str
    at: int
    start: int


class _Taking(NamedTuple):
    """A program of the table as the reader needs it; `options` and `words` with the sign after which the secret is."""

    options: dict[str, str]
    verbs: tuple[list[str], ...]
    words: dict[int, str]
    after: frozenset[str]
    others: frozenset[str]
    needs: str


def _with_sign(written: str) -> tuple[str, str]:
    return (written[:-1], written[-1]) if written[-1] in _SIGNS else (written, "")


def _by_name() -> dict[str, list[_Taking]]:
    found: dict[str, list[_Taking]] = {}
    for each in PROGRAMS:
        taking = _Taking(
            dict(map(_with_sign, each.options.split())),
            tuple(verb.split() for verb in each.verbs),
            {parse_integer(number): sign for number, sign in map(_with_sign, each.words.split())},
            frozenset(each.after.split()),
            frozenset(each.others.split()),
            each.needs,
        )
        for name in each.names.split():
            found.setdefault(name, []).append(taking)
    return found


def _pattern(name: str) -> Regex:
    end = r"\w*" if name[-1] == "*" else ""
    return Regex(rf"(?<![\w.$-]){re.escape(name.rstrip('*'))}{end}['\")}}]{{0,2}}(?=[ \t]+\S|[ \t]*\\\r?\n)")


_PROGRAMS = [(name.rstrip("*"), _pattern(name), takings) for name, takings in _by_name().items()]


def in_programs(string: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """The secrets that programs are given in a text, with their places."""
    for sign, pattern, takings in _PROGRAMS:
        done = 0
        for match in pattern.finditer(string) if sign in string else ():
            if match.start() < done:
                continue  # a word of the same command
            words = list(_words(string, match.end()))
            done = words[-1].start if words else done
            is_first = _FIRST.search(string, max(match.start() - 80, 0), match.start()) is not None
            for taking in takings:
                for at in _taken(words, taking, is_first):
                    found = value_at(string, at)
                    if found is not None:
                        yield found[0], to_end_of_word(string, found[1])


def _words(string: str, at: int) -> Iterator[_Word]:
    """The words of a command after its name, without redirections."""
    for _ in range(_MOST_WORDS):
        blanks = _BLANKS.match(string, at)
        at = at if blanks is None else blanks.end()
        redirection = _REDIRECTION.match(string, at)
        at = at if redirection is None else redirection.end()
        word = _WORD.match(string, at) or _UNENDED.match(string, at)
        if word is None:
            return
        if redirection is None:
            quote = word[0][0]
            is_quoted = quote in "'\"" and word[0][-1] == quote and len(word[0]) > 1
            yield _Word(word[0][1:-1] if is_quoted else word[0], at, at + is_quoted)
        at = word.end()


def _taken(words: list[_Word], taking: _Taking, is_first: bool) -> Iterator[int]:
    """Where secrets begin among the words of a program. `is_first`: it begins a command, and no part of a sentence."""
    if taking.needs and not any(_has_option(word.text, taking.needs) for word in words):
        return
    plain: list[_Word] = []
    found: list[tuple[_Word, str]] = []
    sign: str | None = None
    skips = False
    for word in words:
        option, equals, _ = word.text.partition("=")
        if skips or sign is not None and word.text not in taking.options:
            found += [] if sign is None else [(word, sign)]
            sign, skips = None, False
        elif word.text[:1] != "-" or len(word.text) < 2:
            plain.append(word)
        elif word.text in taking.options:
            sign = taking.options[word.text]
        elif equals and option in taking.options:
            found.append((_rest(word, len(option) + 1), taking.options[option]))
        elif word.text[1] != "-" and _may_be_attached(word.text, taking.options.get(word.text[:2])):
            found.append((_rest(word, 2), taking.options[word.text[:2]]))
        else:
            skips = word.text in taking.others
    verb = _after_verb(plain, taking.verbs)
    if verb is None:
        return
    rest, is_first = plain[verb[1] :], is_first or verb[1] - verb[0] > 1
    for number, sign in taking.words.items():
        if len(rest) >= number and (taking.needs or not _is_prose(rest, number, max(taking.words), is_first)):
            found.append((rest[number - 1], sign))
    for number, word in enumerate(rest[1:], 2):
        before = rest[number - 2].text
        if before in taking.after and ("_" in before or not _is_prose(rest, number, number, True)):
            found.append((word, ""))
    for word, sign in found:
        if sign not in _BETWEEN:
            yield word.at
        elif sign in word.text[1:]:
            yield word.start + word.text.index(sign, 1) + 1


def _rest(word: _Word, size: int) -> _Word:
    """A word without its first characters."""
    return _Word(word.text[size:], word.start + size, word.start + size)


def _has_option(written: str, option: str) -> bool:
    """Whether a word is an option, or has it among other ones of a single letter."""
    is_short = len(option) == 2 and written[:1] == "-" != written[1:2]
    return written == option or is_short and written[1:].isalpha() and option[1] in written


def _may_be_attached(written: str, sign: str | None) -> bool:
    """Whether a word is an option of one letter with its value, rather than an option of several."""
    return sign is not None and (sign == "+" or _PLAIN.fullmatch(written[2:]) is None)


def _after_verb(plain: list[_Word], verbs: tuple[list[str], ...]) -> tuple[int, int] | None:
    """Where a verb begins and ends; values of options may be before it."""
    for start in range(_BEFORE_VERB):
        for verb in verbs:
            given = [word.text for word in plain[start : start + len(verb)]]
            if len(given) == len(verb) and all(map(_is_verb, given, verb)):
                return start, start + len(verb)
    return None


def _is_verb(given: str, verb: str) -> bool:
    return given == verb or verb[-1] == "*" and given.startswith(verb[:-1])


def _is_prose(words: list[_Word], number: int, last: int, is_command: bool) -> bool:
    """Whether a word is one of a sentence: others follow, more than a command has, or nothing tells of a command."""
    text = words[number - 1].text
    if WORDLIKE.fullmatch(text.rstrip(".,:!?")) is None:
        return _VALUE.search(text) is None or _SETTING.match(text) is not None
    follows = len(words) > last and WORDLIKE.fullmatch(words[number].text) is not None
    return follows or number == 1 and not is_command
