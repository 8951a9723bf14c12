"""The Python program that a command starts, if its file is in the project, with the modules that it imports."""

import os.path
import sys
from collections.abc import Iterator
from functools import cached_property

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, Pieces, text_of
from sbatchlint.job import Job
from sbatchlint.job.launchers import may_launch, python_of
from sbatchlint.job.once import once
from sbatchlint.job.programs import commands_of
from sbatchlint.job.python.module import MOST_BYTES, Call, Module, module_of
from sbatchlint.source import lookups

# How many modules of a program, and how many programs of a script, are read.
_MOST_MODULES = 16
_MOST_PROGRAMS = 8


class PythonProgram:
    """A program: its own file, and the modules of the project that it imports.

    `path`: of the file, relative to the project. `main`: the file as a module. The other modules are read on demand.
    """

    def __init__(self, path: str, main: Module, root: str) -> None:
        self.path = os.path.relpath(path, root)
        self.main = main
        self._reader = _Reader(path, main, root)

    @cached_property
    def modules(self) -> list[Module]:
        """Its own file, and the modules of the project that it imports."""
        return self._reader.read()

    @cached_property
    def files(self) -> dict[str, Module]:
        """Its modules by the paths of their files, relative to the project."""
        modules = self.modules
        return dict(zip((os.path.relpath(path, self._reader.root) for path in self._reader.modules), modules))

    @property
    def complete(self) -> bool:
        """Whether every module of the project that it imports was read."""
        return bool(self.modules) and self._reader.complete

    @cached_property
    def foreign(self) -> frozenset[str]:
        """The top-level names of imported modules that are neither the project's nor Python's own."""
        return frozenset(self._reader.foreign if self.modules else ()) - sys.stdlib_module_names

    @cached_property
    def imports(self) -> frozenset[str]:
        return frozenset(name for each in self.modules for name in each.imports)

    @cached_property
    def strings(self) -> frozenset[str]:
        return frozenset(text for each in self.modules for text in each.strings)

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(name for each in self.modules for name in each.names)

    @property
    def calls(self) -> Iterator[Call]:
        return (call for each in self.modules for call in each.calls)

    def mentions(self, *words: str) -> bool:
        """Whether a name, short string or import of the program contains one of these words, in any case."""
        return any(word.lower() in self._words for word in words)

    @cached_property
    def _words(self) -> str:
        return "\n".join((*self.names, *self.strings, *self.imports)).lower()


@once
def python_program(job: Job, invocation: Invocation) -> PythonProgram | None:
    """The program that a command starts with the interpreter, a launcher, or directly; None where it is not known."""
    started = _started(job, invocation)
    if started is None:
        return None
    field, is_module = started
    path = _module_path(job, invocation, field) if is_module else job.beside.path(invocation, field)
    if path is None or not path.endswith(".py"):
        return None
    known: dict[str, PythonProgram | None] = job.answers.setdefault("Python programs", {})
    if path not in known:
        main = None if len(known) >= _MOST_PROGRAMS else _module(path)
        known[path] = None if main is None else PythonProgram(path, main, job.hooks.files.root)
    return known[path]


@once
def python_programs(job: Job) -> list[tuple[Invocation, PythonProgram]]:
    """The commands that start a known Python program, in the order in which they run, each with its program."""
    commands = commands_of(job, lambda name: may_launch(name) or name.endswith(".py"))
    return [(each, program) for each in commands if (program := python_program(job, each)) is not None]


def _started(job: Job, invocation: Invocation) -> tuple[Pieces, bool] | None:
    """The word that names the program of a command, and whether it is a module's name; None if there is none."""
    argv = invocation.argv
    if not argv or invocation.phase is Phase.SUBMIT:
        return None
    launcher = job.launcher_of(invocation)
    if launcher is not None:
        if not launcher.program_certain or launcher.program is None or launcher.program_kind == "command":
            return None
        return argv[launcher.program], launcher.program_kind == "module"
    python = python_of(invocation)
    if python is not None:
        if python.target is None or python.kind not in ("script", "module"):
            return None
        return python.target, python.kind == "module"
    return (argv[0], False) if (invocation.name or "").endswith(".py") else None


def _module_path(job: Job, invocation: Invocation, field: Pieces) -> str | None:
    name = text_of(field)
    if name is None or not all(part.isidentifier() for part in name.split(".")):
        return None
    folders = name.replace(".", "/")
    for candidate in (f"{folders}.py", f"{folders}/__main__.py", f"src/{folders}.py", f"src/{folders}/__main__.py"):
        path = job.beside.named(invocation, candidate)
        if path is not None:
            return path
    return None


# --- the modules of a program --------------------------------------------------------------------------


def _module(path: str) -> Module | None:
    data = lookups.read(path, MOST_BYTES + 1)
    return module_of(data) if data is not None and len(data) <= MOST_BYTES else None


class _Reader:
    """Reads the modules of the project that a program imports."""

    def __init__(self, path: str, main: Module, root: str) -> None:
        self.root = root
        # the folders that Python searches, and those that are usually on its path
        self.folders = list(dict.fromkeys([os.path.dirname(path), root, os.path.join(root, "src")]))
        self.names: dict[str, list[str]] = {}
        self.modules = {path: main}
        self.waiting = [path]
        self.complete = True
        self.foreign: set[str] = set()

    def read(self) -> list[Module]:
        for path in self.waiting:
            for name in sorted(self.modules[path].imports):
                self._import(name)
            for dots, name, names in sorted(self.modules[path].relative):
                folder = os.path.normpath(os.path.join(os.path.dirname(path), *[".."] * (dots - 1)))
                self._import_beside(folder, name, names)
        return list(self.modules.values())

    def _import(self, name: str) -> None:
        """Reads the files of `import a.b`: those of a and of a.b, in the first folder that has any."""
        parts = name.split(".")
        for folder in self.folders:
            found = [self._file(folder, parts[:count]) for count in range(1, len(parts) + 1)]
            if any(found):
                self._add(*found)
                return
            if parts[0] in self._listed(folder):
                inner = self._listed(os.path.join(folder, parts[0]))
                if any(each.endswith(".py") for each in inner):
                    self.complete = False  # a package of the project without this module
                    return
        self.foreign.add(parts[0])

    def _import_beside(self, folder: str, name: str, names: tuple[str, ...]) -> None:
        """Reads the files of `from .a import b`: that of a, and that of b if it is a module."""
        parts = name.split(".") if name else []
        own = self._file(folder, parts) if parts else None
        inner = [self._file(folder, [*parts, each]) for each in names]
        if parts and own is None and not any(inner):
            self.complete = False
        self._add(own, *inner)

    def _add(self, *paths: str | None) -> None:
        for path in paths:
            if path is None or path in self.modules:
                continue
            inside = lookups.real_path(path).startswith(lookups.real_path(self.root) + os.sep)
            module = _module(path) if inside and len(self.modules) < _MOST_MODULES else None
            if module is None:
                self.complete = False
            else:
                self.modules[path] = module
                self.waiting.append(path)

    def _listed(self, folder: str) -> list[str]:
        if folder not in self.names:
            self.names[folder] = list(lookups.names_in(folder))
        return self.names[folder]

    def _file(self, folder: str, parts: list[str]) -> str | None:
        """The file of a module below a folder; None if there is none."""
        *parents, last = parts
        for parent in parents:
            if parent not in self._listed(folder):
                return None
            folder = os.path.join(folder, parent)
        if f"{last}.py" in self._listed(folder):
            return os.path.join(folder, f"{last}.py")
        if last in self._listed(folder) and "__init__.py" in self._listed(os.path.join(folder, last)):
            return os.path.join(folder, last, "__init__.py")
        return None
