"""`--dependency`, as slurmctld reads it (`update_job_dependency()`, src/slurmctld/job_scheduler.c, 20.11 to 26.05).

A value is a list of terms, joined by `,` (all must hold) or `?` (one must). A term is `singleton`, `TYPE:JOB[:JOB…]`
with JOB = `ID[_TASK][+MINUTES][(STATE)]`, or, in the old form, a bare ID, which means afterany. Since 25.11 the parser
is stricter: `,` and `?` cannot be mixed, and nothing may follow a term.
"""

import re
from typing import NamedTuple

from sbatchlint.slurm.edit_distance import edit_distance
from sbatchlint.slurm.grammar import Refusal
from sbatchlint.slurm.versions import is_before
from sbatchlint.source.numbers import is_number, parse_integer
from sbatchlint.source.regex import Regex

TYPES = ("afternotok", "aftercorr", "afterany", "afterok", "afterburstbuffer", "after", "expand")

_MESSAGE = "Batch job submission failed: Job dependency problem"
_NUMBER = Regex(r"[ \t\n\v\f\r]*([+-]?[0-9]+)", re.ASCII)
_TYPE = Regex(r"(afternotok|aftercorr|afterany|afterok|afterburstb|after|expand)", re.IGNORECASE)
# An array expression `ID_[1-3,5]`.
_TASKS = Regex(r"([0-9]+)_\[[^\]]+\]", re.ASCII)


class Term(NamedTuple):
    """A dependency.

    `type`: one of `TYPES` or `singleton`. `job`: its id; 0 for singleton. `task`: the task of an array, -1 for `_*`,
    None for the whole job. `minutes`: of `+MINUTES`, 0 without; it also applies to the jobs after it in the same term.
    `bare`: whether it is an id without a type, which means afterany. `start` and `end`: offsets in the value.
    """

    type: str
    job: int
    task: int | None
    minutes: int
    bare: bool
    start: int
    end: int


class DependencyFault(Exception):
    """A value is refused. `args[0]`: what is wrong with it."""


def parse(string: str, version: str) -> tuple[Term, ...]:
    """The terms of a value; none for `0` and the empty value. Raises DependencyFault.

    An array expression (`5_[1-3]`) becomes a term for each of its tasks.
    """
    if string in ("", "0"):
        return ()
    return _Parser(string, not is_before(version, "25.11")).read()


class _Parser:
    """The parser of slurmctld; `strict`: that of 25.11 and later."""

    def __init__(self, string: str, strict: bool) -> None:
        self.text = string
        self.strict = strict
        self.terms: list[Term] = []
        self.sign = ""

    def read(self) -> tuple[Term, ...]:
        text = self.text
        at = 0
        while True:
            if text[at : at + 9].lower() == "singleton":
                end = self.state(at + 9)
                self.terms.append(Term("singleton", 0, None, 0, False, at, end))
                at = end
                bare = False
            elif ":" not in text[at:] and is_number(text[at : at + 1]):
                term = self.job(at, "afterany", 0, True)
                self.terms.append(term)
                at = term.end
                bare = True
            else:
                found = _TYPE.match(text, at)
                if found is None or text.find(":", at) < 0:
                    raise DependencyFault(self.no_type(at))
                name = found.group().lower()
                colon = text.find(":", at)
                if colon != found.end() and name != "afterburstb":
                    raise DependencyFault(self.no_type(at))
                at = self.jobs(at, colon + 1, "afterburstbuffer" if name == "afterburstb" else name)
                bare = False
            sign = text[at : at + 1]
            if sign not in (",", "?") or not sign:
                break
            if bare and sign == "?":
                raise DependencyFault("`?` cannot follow a bare job ID")
            if self.strict and not bare and self.sign not in ("", sign):
                raise DependencyFault("`,` and `?` cannot be mixed")
            self.sign = sign
            at += 1
        rest = text[at:]
        if rest and (self.strict or self.terms[-1].type == "singleton" or self.terms[-1].bare):
            raise DependencyFault(f"`{rest}` cannot follow a {'job ID' if self.terms[-1].job else 'term'}")
        return tuple(self.terms)

    def no_type(self, at: int) -> str:
        text = self.text
        if at == len(text):
            return "the list ends with a separator" if at else "the value is empty"
        word = re.split(r"[:,?]", text[at:], maxsplit=1)[0]
        if not word:
            return "an item of the list is empty"
        if is_number(word[0]):
            return f"a bare job ID ({word}) can only be followed by bare job IDs"
        if word != word.strip():
            return f"there is a space next to `{word.strip()}`"
        if word.lower() in TYPES:
            return f"{word} names no job"
        return f"`{word}` is not a type of dependency"

    def jobs(self, start: int, at: int, name: str) -> int:
        """Reads the jobs of one term; returns the offset of their end."""
        minutes = 0
        while True:
            term = self.job(at, name, minutes, False)
            self.terms.append(term._replace(start=start))
            minutes = term.minutes
            at = term.end
            if self.text[at : at + 1] != ":":
                return at
            at += 1
            start = at

    def job(self, at: int, name: str, minutes: int, bare: bool) -> Term:
        text = self.text
        found = _NUMBER.match(text, at)
        number = parse_integer(found.group(1)) if found is not None else 0
        if found is None or number % 2**32 == 0:
            shown = re.split(r"[:,?+(]", text[at:], maxsplit=1)[0]
            raise DependencyFault(f"`{shown}` is not a job ID" if shown else "a job ID is missing")
        end = found.end()
        task: int | None = None
        if text[end : end + 1] == "_":
            if text[end + 1 : end + 2] == "*":
                task, end = -1, end + 2
            else:
                expression = _TASKS.match(text, found.start(1))
                inner = _NUMBER.match(text, end + 1)
                if expression is not None:
                    task, end = -1, expression.end()
                elif inner is not None:
                    task, end = parse_integer(inner.group(1)), inner.end()
                elif self.strict or text[end + 1 : end + 2] == "[":
                    raise DependencyFault("the task of the array is missing")
                else:
                    task, end = 0, end + 1
        if bare:
            following = text[end : end + 1]
            if following not in ("", ",") and not (self.strict and following == "?"):
                if following == "?":
                    raise DependencyFault("`?` cannot follow a bare job ID")
                raise DependencyFault(f"`{text[end:]}` cannot follow a job ID")
            return Term(name, number, task, 0, True, at, end)
        if not self.strict and text[end : end + 1] not in ("", ",", "?", ":", "+", "("):
            raise DependencyFault(f"`{text[end:]}` cannot follow a job ID")
        if text[end : end + 1] == "+":
            delay = _NUMBER.match(text, end + 1)
            if delay is None or parse_integer(delay.group(1)) <= 0:
                raise DependencyFault("`+` needs a number of minutes above 0")
            minutes, end = parse_integer(delay.group(1)), delay.end()
        return Term(name, number, task, minutes, False, at, self.state(end))

    def state(self, at: int) -> int:
        """The offset after a `(STATE)`, which may be anywhere in the rest."""
        opened = self.text.find("(", at)
        if opened < 0:
            return at
        closed = self.text.find(")", at)
        if closed < 0:
            raise DependencyFault("`(` is not closed")
        return closed + 1


# Frequent mistakes for a type, or for the sign between a type and a job.
_MEANT = {
    "after-any": "afterany",
    "after_any": "afterany",
    "after-ok": "afterok",
    "after_ok": "afterok",
    "afterall": "afterany",
    "aftersuccess": "afterok",
    "aftersucc": "afterok",
    "afterfail": "afternotok",
    "afterfailed": "afternotok",
    "after_notok": "afternotok",
    "after-notok": "afternotok",
    "afternok": "afternotok",
    "afterend": "afterany",
    "afterstart": "after",
    "on": "after",
}


def corrected(string: str) -> str | None:
    """The value plainly meant by one that is refused; None if unknown."""
    parts = re.split(r"([,?])", re.sub(r"\s+", "", string).replace(";", ",").strip(",?"))
    found: list[str] = []
    for part in parts:
        if part in (",", "?"):
            found.append(part)
            continue
        match = re.fullmatch(r"([A-Za-z_-]+)[:=]([0-9][0-9_:+*]*)", part, re.ASCII)
        if match is None:
            found.append(part)
            continue
        name, jobs = match.groups()
        folded = name.lower()
        if folded not in TYPES:
            known = _MEANT.get(folded)
            if known is None:
                near = [each for each in TYPES if edit_distance(folded, each) == 1]
                known = near[0] if len(near) == 1 else None
            if known is None:
                return None
            folded = known
        found.append(f"{folded}:{jobs.rstrip(':')}")
    value = "".join(found)
    return value if value != string and _reason(value, "26.05") is None else None


def refusal(option: str, value: str, version: str) -> Refusal | None:
    """See `grammar.refusals`. Whether the jobs exist depends on the cluster."""
    reason = _reason(value, version)
    return None if reason is None else Refusal("dependency", _MESSAGE, reason, corrected(value), "controller")


def _reason(value: str, version: str) -> str | None:
    """Why a value is refused; None if it is not."""
    try:
        parse(value, version)
    except DependencyFault as fault:
        return str(fault)
    return None
