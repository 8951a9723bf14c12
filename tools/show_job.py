"""Shows a batch script as the checks see it: directives, commands, values of variables, steps and launches.

    python tools/show_job.py SCRIPT
    python tools/show_job.py --json SCRIPT
    python tools/show_job.py --config sbatchlint.toml SCRIPT     with the settings of a site

Commands stand in the order in which they run, below the one that starts them; a command whose words can be one thing or
the other stands once for each. `‹NAME›` is what is not known: the expansion that would have to give it, with `*` where
it may be any number of words. `?` is a number that is not known. Scripts that the script submits follow behind it.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from sbatchlint.bash.case_arms import Bodies  # noqa: E402
from sbatchlint.bash.trace import Context, Invocation, Shell, VariableAssignment  # noqa: E402
from sbatchlint.bash.values import Expansion, Pieces, expansions, text_of  # noqa: E402
from sbatchlint.bash.variables import Guards  # noqa: E402
from sbatchlint.job import Job, Launch, Step  # noqa: E402
from sbatchlint.job.launchers.model import Setting  # noqa: E402
from sbatchlint.job.worlds import World, find_worlds  # noqa: E402
from sbatchlint.settings import Overrides, Resolver  # noqa: E402
from sbatchlint.slurm import model as directives  # noqa: E402
from sbatchlint.slurm.getopt import UNKNOWN  # noqa: E402
from sbatchlint.source.files import InputError, read  # noqa: E402
from sbatchlint.source.text import Span  # noqa: E402

Plain = dict[str, Any]
# What stands elsewhere in the entry of a command.
SHOWN_APART = ("guards", "parent", "phase")


class Viewer:
    """The plain values of one job."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.shells: list[Shell] = []  # those other than the script's own, in the order in which they are met

    def job_value(self) -> Plain:
        job = self.job
        value: Plain = {
            "path": job.source.path,
            "slurm_version": str(job.versions),
            "phase": job.phase.name.lower(),
            "limits": sorted(job.limits.met),
            "directives": [self.directive(each) for each in job.directives.settings],
            "commands": [self.command(each) for each in job.invocations],
            "variables": [self.assignment(each) for each in job.assignments],
            "steps": [self.step(each) for each in job.steps],
            "launches": [self.launch(each) for each in find_worlds(job) if each.launch is not None],
            "submits": [Viewer(inner).job_value() for inner in job.submits],
        }
        return value

    def line(self, span: Span) -> int | str:
        """The line of a place, with the file where that is another than the script."""
        row = self.job.line(span.start)
        path = getattr(row, "path", None)
        return int(row) if path is None else f"{path}:{int(row)}"

    def directive(self, setting: directives.Setting) -> Plain:
        return {
            "line": self.line(setting.span),
            "name": setting.name,
            "value": None if setting.value is None else setting.value.replace(UNKNOWN, "‹?›"),
            "component": setting.component,
        }

    def origin(self, expansion: Expansion) -> str:
        return f"{expansion.name} (line {self.line(expansion.span)}, {expansion.phase.name.lower()})"

    def word(self, field: Pieces) -> Plain:
        """A word: its text with marks for what is unknown, whether all of it is known, and what was expanded in it."""
        value: Plain = {"text": marked(field), "known": text_of(field) is not None}
        found = list(dict.fromkeys(self.origin(each) for each in expansions(field)))
        return {**value, "from": found} if found else value

    def command(self, invocation: Invocation) -> Plain:
        value: Plain = {
            "line": self.line(invocation.span),
            "phase": invocation.phase.name.lower(),
            "started_by": invocation.kind or None,
            "depth": len(invocation.ancestors()),
            "argv": [self.word(field) for field in invocation.argv],
            "guards": shown_guards(invocation.guards),
            "context": self.context(invocation.context),
        }
        if invocation.variables:
            value["environment"] = {name: self.word(field) for name, field in invocation.variables}
        if invocation.redirects:
            value["redirects"] = [
                f"{redirect.fd or ''}{redirect.operator}"
                f" {'(heredoc)' if redirect.target is None else marked(redirect.target)}"
                for redirect in invocation.redirects
            ]
        return value

    def context(self, context: Context) -> Plain:
        """All that a context says beside the phase, as far as it says something."""
        found = {}
        for name, value in vars(context).items():
            if value and name not in SHOWN_APART and not (name == "shell" and value.parent is None):
                found[name] = self.plain(value)
        return found

    def plain(self, value: Any) -> Any:
        if isinstance(value, Span):
            return f"line {self.line(value)}"
        if isinstance(value, Invocation):
            return f"line {self.line(value.span)}"
        if isinstance(value, Shell):
            return self.shell(value)
        if isinstance(value, (tuple, frozenset)):
            return sorted(map(str, value)) if isinstance(value, frozenset) else [self.plain(each) for each in value]
        return value if isinstance(value, (bool, int, str)) else str(value)

    def shell(self, shell: Shell) -> str:
        """A shell process: its number, and what makes it one of its own."""
        if shell.parent is None:
            return "the script's own"
        if shell not in self.shells:
            self.shells.append(shell)
        return f"{self.shells.index(shell) + 1} ({shell.kind} of line {self.line(shell.span)})"

    def assignment(self, assigned: VariableAssignment) -> Plain:
        values = []
        for alternative in assigned.alternatives:
            words = None if alternative.fields is None else [self.word(field) for field in alternative.fields]
            values.append({"value": words, "guards": shown_guards(alternative.guards)})
        return {
            "name": assigned.name,
            "line": self.line(assigned.span),
            "phase": assigned.context.phase.name.lower(),
            "exported": assigned.exported,
            "alternatives": values,
        }

    def step(self, step: Step) -> Plain:
        geometry = step.geometry
        reason = geometry.reason
        return {
            "line": self.line(step.span),
            "nodes": geometry.nodes,
            "tasks": geometry.tasks,
            "tasks_per_node": geometry.tasks_per_node,
            "decided_by": None if reason is None else f"{reason[1]} (line {self.line(reason[0])})",
            "ntasks_per_node_ignored": geometry.ignored,
            "options": {each.name: None if each.value is None else marked(each.value) for each in step.all_options},
            "all_options_known": step.certain,
            "refused_words": [each.kind for each in step.problems],
            "container": None if step.container is None else step.container.kind,
        }

    def launch(self, world: World) -> Plain:
        launch = world.launch
        assert isinstance(launch, Launch)
        launcher = launch.launcher
        rendezvous = launcher.rendezvous
        met: Plain | None = None
        if rendezvous is not None:
            met = {"backend": rendezvous.backend}
            met.update({name: self.setting(getattr(rendezvous, name)) for name in ("address", "port", "endpoint")})
        return {
            "line": self.line(launcher.span),
            "launcher": launcher.kind,
            "written": launcher.name,
            "step": None if launch.step is None else self.line(launch.step.span),
            "program": launcher.program_name,
            "all_options_known": launcher.certain,
            "container": None if launch.container is None else launch.container.kind,
            "restricted": sorted(launch.restricted),
            "world": {
                "nodes": world.nodes,
                "starts_per_node": world.starts_per_node,
                "nodes_asked": {"least": world.nodes_setting.least, "most": world.nodes_setting.most},
                "node_rank": self.setting(launcher.node_rank),
                "processes_per_start": world.processes,
                "processes": world.size,
                "rendezvous": met,
            },
        }

    def setting(self, setting: Setting | None) -> Plain | None:
        if setting is None:
            return None
        value = {"value": True} if setting.value is None else self.word(setting.value)
        return {"name": setting.name, "line": self.line(setting.span), **value}


def marked(field: Pieces) -> str:
    """The text of a word, with ‹…› for what is not known."""
    parts = []
    for piece in field:
        if piece.text is not None:
            parts.append(piece.text)
        else:
            name = "?" if piece.expansion is None else piece.expansion.name
            parts.append(f"‹{name}{'*' if piece.open else ''}›")
    return "".join(parts)


def shown_guards(guards: Guards) -> list[str]:
    """The branches that a command or a value belongs to."""
    found = []
    for key, arm in guards:
        kind, *rest = key if isinstance(key, tuple) else (key,)
        # a condition is known by its text; numbers only tell apart what is written alike
        what = " ".join(str(each) for each in rest if isinstance(each, str) or kind == "loop")
        if isinstance(arm, Bodies):
            how = "way " + " and ".join(
                sorted(
                    "/".join(str(number + 1) for number in range(bits.bit_length()) if bits >> number & 1)
                    for _, bits in arm.found
                )
            )
        elif kind == "loop":
            how = f"round {arm + 1}"
        else:
            how = ("yes", "no")[arm] if kind == "if" and arm < 2 else f"way {arm + 1}"
        found.append(f"{kind} {what}: {how}")
    return sorted(found)


# --- as text ------------------------------------------------------------------------------------


def as_text(value: Plain) -> Iterator[str]:
    yield f"{value['path']}: Slurm {value['slurm_version']}, runs in phase {value['phase']}"
    if value["limits"]:
        yield f"the evaluation met a bound ({', '.join(value['limits'])}): what follows is not all"
    yield "\ndirectives"
    for directive in value["directives"]:
        option = f"--{directive['name']}" + ("" if directive["value"] is None else f"={directive['value']}")
        component = f"   component {directive['component']}" if directive["component"] else ""
        yield f"{directive['line']:>6}  {option}{component}"
    yield "\ncommands"
    for command in value["commands"]:
        indent = "  " * command["depth"]
        started = f" [{command['started_by']}]" if command["started_by"] else ""
        words = " ".join(quoted(word) for word in command["argv"])
        environment = "".join(f"{name}={quoted(word)} " for name, word in command.get("environment", {}).items())
        redirects = "".join(f" {text}" for text in command.get("redirects", ()))
        yield f"{command['line']:>6}  {command['phase']:<6}  {indent}{environment}{words}{redirects}{started}"
        told = [
            f"{name}" if state is True else f"{name} {as_words(state)}" for name, state in command["context"].items()
        ]
        origins = dict.fromkeys(origin for word in command["argv"] for origin in word.get("from", ()))
        for title, texts in (("", told), ("guards: ", command["guards"]), ("from: ", list(origins))):
            if texts:
                yield f"{'':16}{indent}  {title}{', '.join(texts)}"
    yield "\nvariables"
    for variable in value["variables"]:
        yield (
            f"{variable['line']:>6}  {variable['phase']:<6} "
            f" {'export ' if variable['exported'] else ''}{variable['name']}"
        )
        for alternative in variable["alternatives"]:
            words = alternative["value"]
            text = "unset" if words is None else " ".join(quoted(word) for word in words) or "()"
            guards = f"   guards: {', '.join(alternative['guards'])}" if alternative["guards"] else ""
            origins = dict.fromkeys(origin for word in words or () for origin in word.get("from", ()))
            yield f"{'':16}  = {text}{guards}{'   from: ' + ', '.join(origins) if origins else ''}"
    yield "\nsteps"
    for step in value["steps"]:
        yield from step_text(step)
    yield "\nlaunches"
    for launch in value["launches"]:
        yield from launch_text(launch)
    for inner in value["submits"]:
        yield "\nsubmits"
        yield from as_text(inner)


def step_text(step: Plain) -> Iterator[str]:
    decided = f", decided by {step['decided_by']}" if step["decided_by"] else ""
    nodes, tasks, each = (number(step[name]) for name in ("nodes", "tasks", "tasks_per_node"))
    yield f"{step['line']:>6}  nodes {nodes}, tasks {tasks}, on each node {each}{decided}"
    if step["options"]:
        options = [name if text is None else f"{name}={text}" for name, text in step["options"].items()]
        yield f"{'':8}options: {', '.join(options)}"
    if step["container"]:
        yield f"{'':8}container: {step['container']}"
    if step["ntasks_per_node_ignored"] is not False:
        yield f"{'':8}srun ignores --ntasks-per-node{'' if step['ntasks_per_node_ignored'] else ' in some releases'}"
    if not step["all_options_known"]:
        yield f"{'':8}a word that is not known may hold further options"
    if step["refused_words"]:
        yield f"{'':8}srun refuses it: {', '.join(step['refused_words'])}"


def launch_text(launch: Plain) -> Iterator[str]:
    world = launch["world"]
    step = "in the batch shell" if launch["step"] is None else f"in the step of line {launch['step']}"
    yield f"{launch['line']:>6}  {launch['launcher']} ({launch['written']}) {step}, runs {launch['program'] or '?'}"
    asked = " to ".join(dict.fromkeys(number(world["nodes_asked"][name]) for name in ("least", "most")))
    nodes, each = number(world["nodes"]), number(world["starts_per_node"])
    yield f"{'':8}started on nodes {nodes}, on each {each}; told of nodes {asked}"
    yield f"{'':8}processes: of each start {number(world['processes_per_start'])}, of all {number(world['processes'])}"
    if world["node_rank"]:
        yield f"{'':8}node rank: {setting_text(world['node_rank'])}"
    met = world["rendezvous"]
    if met:
        parts = [f"backend {met['backend'] or '?'}"]
        parts += [f"{name} {setting_text(met[name])}" for name in ("address", "port", "endpoint") if met[name]]
        yield f"{'':8}rendezvous: {'; '.join(parts)}"
    if launch["container"]:
        yield f"{'':8}container: {launch['container']}"
    if launch["restricted"]:
        yield f"{'':8}only some tasks start it: {', '.join(launch['restricted'])}"
    if not launch["all_options_known"]:
        yield f"{'':8}a word that is not known may hold further options"


def number(value: int | None) -> str:
    return "?" if value is None else str(value)


def setting_text(setting: Plain) -> str:
    """A setting of a launcher: its value, where it is written, and what was expanded in it."""
    value = setting.get("text", "given")
    origins = [f"{setting['name']}, line {setting['line']}", *setting.get("from", ())]
    return f"{value} ({'; '.join(origins)})"


def quoted(word: Plain) -> str:
    """A word as a shell would read it, as far as its text is known."""
    text: str = word["text"]
    return shlex.quote(text) if word["known"] else f'"{text}"' if " " in text else text


def as_words(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("script", metavar="SCRIPT")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
    parser.add_argument("--config", metavar="FILE", help="a configuration file; without it the nearest one")
    options = parser.parse_args(arguments)
    try:
        source = read(options.script)
        job = Job.from_source(source, Resolver(Overrides(configuration=options.config)).settings(source.path).site)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    value = Viewer(job).job_value()
    print(json.dumps(value, indent=2) if options.json else "\n".join(as_text(value)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
