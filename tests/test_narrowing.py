"""A test on a variable decides which of its values a branch sees."""

import pytest

from sbatchlint.bash.values import shown_text
from sbatchlint.job import Job
from sbatchlint.site import Site
from sbatchlint.source.text import Source

SET = "x=${1:-}\n"
CASES = [
    ('if [ -z "$x" ]; then show "$x"; fi', [""]),
    ('if [ -z "$x" ]; then :; else show "$x"; fi', ["?"]),
    ('if [ -n "$x" ]; then show "$x"; fi', ["?"]),
    ('if [ ! -z "$x" ]; then show "$x"; fi', ["?"]),
    ('if ! [ -z "$x" ]; then show "$x"; fi', ["?"]),
    ('if test "$x"; then show "$x"; else :; fi', ["?"]),
    ('if [ "$x" = "" ]; then :; else show "$x"; fi', ["?"]),
    ('if [[ -z $x ]]; then :; else show "$x"; fi', ["?"]),
    ('if [[ -n $x ]]; then show "$x"; fi', ["?"]),
    ('if [[ $x ]]; then :; else show "$x"; fi', [""]),
    ('[ -n "$x" ] && show "$x"', ["?"]),
    ('[ -z "$x" ] || show "$x"', ["?"]),
    ('[[ -z $x ]] || show "$x"', ["?"]),
    ('if [ -z "$x" ]; then :; elif [ "$2" ]; then show "$x"; fi', ["?"]),
    ('f() { local y=${1:-}; if [ -z "$y" ]; then :; else show "$y"; fi; }\nf $x', ["?"]),
    ('if [ -e "$x" ]; then show "$x"; fi', ["", "?"]),
]


@pytest.mark.parametrize(("script", "values"), CASES)
def test_values_in_a_branch(script: str, values: list[str]) -> None:
    job = Job.from_source(Source(f"#!/bin/bash\n#SBATCH -n1\n{SET}{script}\n", "job.sh"), Site())
    shown = [shown_text(each.argv[1]).replace("\ue000", "?") for each in job.invocations if each.name == "show"]
    assert sorted(set(shown)) == sorted(values)
