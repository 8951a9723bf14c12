"""`--constraint`, `--prefer` and `--batch`: expressions of node features.

`build_feature_list()` and `_feature_string2list()` of src/slurmctld/job_scheduler.c, Slurm 20.11 to 26.05. Which
features exist depends on the site; the operators between them do not.
"""

import re

from sbatchlint.slurm.grammar import Refusal
from sbatchlint.slurm.versions import is_before
from sbatchlint.source.numbers import parse_integer
from sbatchlint.source.regex import Regex

_NAMES = {"constraint": "feature", "prefer": "preferred feature"}
_TOKEN = Regex(r"\*[ \t]*([+-]?[0-9]+)?|[&|,()\[\]]|[^*&|,()\[\]]+", re.ASCII)


def refusal(option: str, value: str, version: str) -> Refusal | None:
    """See `grammar.refusals`."""
    if option not in _NAMES:
        return None
    reason = fault(value, version)
    if reason is None:
        return None
    name = _NAMES[option]
    if is_before(version, "23.02") and reason not in ("the brackets do not match", "a parenthesis is not closed"):
        name = "feature"
    message = f"Batch job submission failed: Invalid {name} specification"
    bracketed = f"[{value.replace(',', '&')}]"
    instead = (
        bracketed
        if "*" in value and "[" not in value and "|" not in value and fault(bracketed, version) is None
        else None
    )
    kind = "constraint" if reason == _COUNTS else "choice"
    return Refusal(kind, message, reason, instead, "controller")


# New in 23.02, and therefore of a separate kind, `constraint`; other faults have the kind `choice`.
_COUNTS = "counts of several features need brackets, [a*2&b*2]"
_MISCOUNTED = {
    "&": "in brackets every feature of an `&` needs a count, [a*2&b*2]",
    "|": "in brackets no feature of an `|` can have a count",
}


def fault(value: str, version: str) -> str | None:
    """What is wrong with an expression; None if its operators are right."""
    bracket = paren = brackets = features = 0
    name = counted = number = False
    after = joined = ""
    for found in _TOKEN.finditer(value):
        token = found.group()
        if token[0] == "*":
            if not name or paren or parse_integer(found.group(1) or "0") <= 0:
                return "`*` needs a feature before it and a number above 0 after it"
            counted = counted or not bracket
            number = True
            after = "*"
            continue
        if token in "&|,":
            if not name:
                return f"`{token}` has no feature before it"
            if bracket and not paren:
                joined = "|" if token == "|" else "&"
                if number != (joined == "&"):
                    return _MISCOUNTED[joined]
            features += 1
            name = number = False
        elif token == "[":
            brackets += 1
            if name or bracket or paren and not is_before(version, "23.02"):
                return "the brackets do not match"
            if brackets > 1:
                return "only one pair of brackets is allowed"
            bracket = 1
        elif token == "]":
            if not name or not bracket or paren and not is_before(version, "23.02"):
                return "the brackets do not match"
            if joined and number != (joined == "&"):
                return _MISCOUNTED[joined]
            bracket = 0
        elif token == "(":
            if name or paren:
                return "the parentheses do not match"
            paren = 1
        elif token == ")":
            if not name or not paren:
                return "the parentheses do not match"
            paren = 0
        elif not name:
            name = True
        elif after in (")", "]") and not is_before(version, "23.11"):
            return f"`{after}` needs a sign after it"
        after = token
    features += name
    if bracket:
        return "a bracket is not closed"
    if paren:
        return "a parenthesis is not closed"
    if counted and features > 1 and not is_before(version, "23.02"):
        return _COUNTS
    return None
