"""`schema`: the JSON schema of a configuration, for editors. Of draft 7, which editors of TOML know."""

import json
from typing import Any

from msgspec.json import schema_components

from sbatchlint import __version__
from sbatchlint.check import Option
from sbatchlint.cli.arguments import Parser
from sbatchlint.cli.explain import plain
from sbatchlint.keys import Configuration
from sbatchlint.registry import GROUPS, Registry, registry
from sbatchlint.slurm.versions import MAJORS

# Of the default of an option.
_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", tuple: "array"}


def parser() -> Parser:
    return Parser(
        "schema",
        "Prints the JSON schema of sbatchlint.toml, for editors.",
    )


def schema(arguments: list[str]) -> int:
    """Runs `sbatchlint schema`; returns the exit code."""
    parser().parse_args(arguments)
    print(json.dumps(schema_value(), indent=2))
    return 0


def schema_value() -> dict[str, Any]:
    """The schema that the types give, with the checks there are, their options, and the releases of Slurm."""
    _, parts = schema_components([Configuration], ref_template="#/definitions/{name}")
    top = parts.pop("Configuration")
    keys = top["properties"]
    known = registry()
    summaries = {check.entry.name: plain(check.summary) for check in known.load_all()}
    selector, check = {"$ref": "#/definitions/selector"}, {"$ref": "#/definitions/check"}
    for name in ("select", "extend-select", "ignore"):
        keys[name]["items"] = selector
    keys["per-file-ignores"]["additionalProperties"]["items"] = selector
    severity = keys["severity"]
    severity["properties"] = {
        name: {"description": text, **severity["additionalProperties"]} for name, text in summaries.items()
    }
    severity["propertyNames"] = selector
    release = f"({'|'.join(MAJORS)})".replace(".", "[.]")
    keys["slurm-version"]["pattern"] = f"^{release}(-{release})?$"
    keys["checks"] |= {"propertyNames": check, "properties": _tables(known)}
    keys["checks"]["additionalProperties"] = {"type": "object", "maxProperties": 0}
    parts["selector"] = {"description": "a code, a prefix of codes, a name, a group, or ALL", "enum": selectors(known)}
    parts["check"] = {"description": "a code or a name", "enum": [*checks_by_name(known), *checks_by_code(known)]}
    del top["title"]
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": f"Settings of sbatchlint {__version__}",
        **top,
        "definitions": parts,
    }


def checks_by_name(known: Registry) -> list[str]:
    return [entry.name for entry in known.entries]


def checks_by_code(known: Registry) -> list[str]:
    return [entry.code for entry in known.entries]


def selectors(known: Registry) -> list[str]:
    """Everything that chooses checks, in the spelling of the documentation."""
    prefixes = {code[:size] for code in checks_by_code(known) for size in (2, 3, 4)} | {each.prefix for each in GROUPS}
    groups = [each.name for each in GROUPS]
    return ["ALL", *groups, *checks_by_name(known), *sorted({*prefixes, *checks_by_code(known)})]


def _tables(known: Registry) -> dict[str, Any]:
    """The tables of the checks that have options, by name and by code."""
    found = {}
    for check in known.load_all():
        options = {option.name: _option(option) for option in check.card.options}
        for key in (check.entry.name, check.entry.code) if options else ():
            found[key] = {
                "description": plain(check.summary),
                "type": "object",
                "properties": options,
                "additionalProperties": False,
            }
    return found


def _option(option: Option) -> dict[str, Any]:
    kind = _TYPES.get(type(option.default))
    default = {} if option.default is None else {"default": option.default}
    return {"description": option.help, **({"type": kind} if kind else {}), **default}
