"""uv, pip, conda, and the module systems Lmod and Environment Modules."""

import re

from sbatchlint.bash.values import text_of
from sbatchlint.diagnose.clues import possible, says
from sbatchlint.diagnose.evidence import commands, shown, spans_of, worded
from sbatchlint.diagnose.installed import modules
from sbatchlint.diagnose.subjects import fetching
from sbatchlint.diagnose.symptom import RULED_OUT, Cause, Event, Symptom, Verdict
from sbatchlint.job import Job
from sbatchlint.job.programs import commands_named


def _loads(job: Job, event: Event) -> Verdict:
    """The command that loads the module, by its name where the message has it."""
    name = event.groups.get("module", "").strip("\"' ")
    loads = commands_named(job, "module", "ml")
    named = tuple(each.span for each in loads if name and any(name in word for word in each.words[1:]))
    if named or not _missed(event) or not loads:
        return shown(named) or shown(spans_of(loads))
    known = any(
        each.name == one.partition("/")[0] or each.name in one for each in modules(job) for one in _missed(event)
    )
    return shown(spans_of(loads), "likely" if known else "possible")


_NAME = re.compile(r"[\w.+-]+(?:/[\w.+-]+)+")
_TYPED = re.compile(r"(?:^|[\s$#>;&])(?:module\s+(?:load|add)|ml)\s+(?P<names>[^;&|]+)")


def _missed(event: Event) -> list[str]:
    """The modules with their releases that a message misses."""
    return _NAME.findall(event.groups.get("module", ""))


def _wanted_by_module(event: Event) -> bool | None:
    """The message misses a module that was not asked for, beside one that was: confirmed where the log shows the command."""
    missed = _missed(event)
    typed = " ".join(match["names"] for line in (*event.early, *event.above) for match in _TYPED.finditer(line))
    named = [each for each in missed if each in typed.split()]
    return possible(named and len(named) < len(missed))


def _of_loaded(event: Event) -> bool | None:
    """The message names the modules that it misses, and the log shows no command that loads them."""
    typed = any(map(_TYPED.search, (*event.early, *event.above)))
    return possible(_missed(event) and not typed)


def _nobody_named(job: Job, event: Event) -> Verdict:
    """The script loads modules, and none of those that the message misses, or only a part of them."""
    loaded = modules(job)
    missed = _missed(event)
    named = [each for each in loaded if any(each.name == one or one.startswith(each.name + "/") for one in missed)]
    strange = [one for one in missed if not any(each.name == one or one.startswith(each.name + "/") for each in loaded)]
    if not loaded or not strange:
        return RULED_OUT
    return shown(tuple(each.span for each in named or loaded[-1:]))


def _environment(job: Job, event: Event) -> Verdict:
    name = event.groups.get("name", "")
    return (shown(worded(job, name)) if name else None) or shown(
        commands(job, "conda", "mamba", "micromamba", "source", "."), "possible"
    )


def _installing(job: Job, event: Event) -> Verdict:
    """The commands by which conda installs packages, or makes an environment."""
    calls = commands_named(job, "conda", "mamba", "micromamba")
    verbs = ("install", "create", "update", "env")
    return shown(spans_of(each for each in calls if any(text_of(word) in verbs for word in each.argv[1:3])))


def _no_network(event: Event) -> bool:
    """The lines around say that the node has no way to the internet."""
    said = re.compile(r"Network is unreachable|NewConnectionError|Name or service not known|name resolution")
    return any(map(said.search, (*event.above[-12:], *event.below)))


# fmt: off
SYMPTOMS = (
    Symptom(
        id="module-unknown",
        title="the module system does not have the module",
        docs="The name or release is gone, a module that has to be loaded before is missing, or the nodes have a different MODULEPATH from the login node. The script goes on without it.\n",
        printed_by="Lmod, Environment Modules",
        releases="Lmod (messageDir/en.lua) 6 to 8; Environment Modules 3 to 5 (`ERROR:105`, `Unable to locate a modulefile`)",
        literals=("module(s) are unknown", "exist but cannot be loaded as requested", "Unable to locate a modulefile", "Cannot load module", "These module(s)", "You can only have one", "cannot be loaded due to missing prereq", "LMOD_", "Module ERROR", "ModuleCmd_Load", "Lmod has detected the following error"),
        patterns=(
            r"following module\(s\) are unknown:(?: (?P<module>.+))?$",
            r"exist but cannot be loaded as requested: (?P<module>.+)",
            r"Unable to locate a modulefile for '(?P<module>[^']+)'",
            r"Cannot load module \"(?P<module>[^\"]+)\" without|^ERROR: (?P<name>\S+) cannot be loaded due to",
            r"ModuleCmd_Load\.c\(\d+\):ERROR:\d+: (?P<error>.+)|^ ?Lmod has detected the following error: +(?P<message>\S.*)",
        ),
        causes=(
            Cause("wanted-by-module", "cluster", "a module that is loaded needs {module}, which the site's tree of modules does not have (any more): what rests on it cannot be loaded either", "tell the site; until it is there again, take another release of the module that needs it (`module spider NAME`)", log=_wanted_by_module),
            Cause("module-of-script", "script", "the module system of the node has no module {module}, or not with what is loaded", "take one of `module spider NAME`, with what it needs loaded before; where it lists none, the site took it away: leave it out of the line, or ask the site what replaces it", codes=("SB612",), script=_loads),
            Cause("no-modulepath", "cluster", "the module system of the node has no folders of modules (MODULEPATH is not set there)", "source the site's profile in the job, or tell the site", log=lambda event: any("MODULEPATH is undefined" in line for line in event.above)),
            Cause("module", "submission", "the module system of the node has no module {module}, or not with what is loaded", "take one of `module spider NAME`, with what it needs loaded before"),
            Cause("wanted-by-loaded", "cluster", "a module that is loaded needs {module}, which the site's tree of modules does not have (any more): what rests on it cannot be loaded either", "tell the site; until it is there again, take another release of the module that needs it (`module spider NAME`)", script=_nobody_named, log=_of_loaded),
        ),
        matches="""\
Lmod has detected the following error:  The following module(s) are unknown: "cuda/12.9"
These module(s) or extension(s) exist but cannot be loaded as requested: "openmpi/4.1"
ERROR: Unable to locate a modulefile for 'gcc/99'
Cannot load module "hdf5" without these module(s) loaded:
ModuleCmd_Load.c(213):ERROR:105: Unable to locate a module
Lmod has detected the following error:  Swap failed: "gcc" is not loaded.
""",
    ),
    Symptom(
        id="module-conflict",
        title="two modules do not go together",
        docs="The second module is not loaded, and the script goes on without it. What the login shell had loaded counts too, where the environment was passed on.\n",
        printed_by="Lmod, Environment Modules",
        releases="Environment Modules 3 to 5 (`ERROR:150`); Lmod 6 to 8",
        literals=("conflicts with the currently loaded", "due to a conflict", "because these module(s) are loaded"),
        patterns=(r"'?(?P<module>[\w./+-]+)'? conflicts with the currently loaded|(?P<other>\S+) cannot be loaded due to a conflict|Cannot load module \"(?P<third>[^\"]+)\" because these module\(s\) are loaded",),
        causes=(
            Cause("modules-of-script", "script", "a module that the script loads conflicts with one that is loaded already, so it is not loaded", "begin with `module purge`, and `module swap` (or unload) the other one first; take modules that were built for each other", script=_loads),
            Cause("modules", "submission", "a module conflicts with one that is already loaded, usually by the login shell", "begin the script with `module purge`, or submit with --export=NONE"),
        ),
        matches="""\
ERROR:150: Module 'intel/2021' conflicts with the currently loaded module(s) 'gcc/11'
x/1 cannot be loaded due to a conflict.
Cannot load module "hdf5/1.12" because these module(s) are loaded:
""",
    ),
    Symptom(
        id="module-system-missing",
        title="the node has no module system",
        docs="The environment includes the functions of the login shell (`--export=ALL`), and what they call is not on the node. Nothing is loaded, and the programs are not found.\n",
        printed_by="bash, by way of the functions module and ml",
        literals=("/lmod: ", "lmod/libexec", "modulecmd", "LMOD_CMD", "lmod: No such", "/lua: "),
        patterns=(r"^\S+: line \d+: \S*(?:lmod|modulecmd(?:\.tcl)?|/lua\S*): No such file or directory", r"^\S+: (?:line \d+: )?(?:modulecmd|lua): (?:command )?not found|_module_raw: (?:command )?not found", r"couldn't read file \"[^\"]*modulecmd[^\"]*\": no such file"),
        causes=(Cause("not-installed", "cluster", "the module system of the login shell is not installed on the node", "tell the site; submit with --export=NONE where the node has its own, and write `unset SLURM_EXPORT_ENV` before srun, whose tasks lack PATH otherwise", unproven="certain"),),
        matches="environment: line 17: /usr/share/lmod/lmod/libexec/lmod: No such file or directory\nbash: modulecmd: command not found\ncouldn't read file \"/opt/modules/libexec/modulecmd.tcl\": no such file or directory\n",
    ),
    Symptom(
        id="conda-environment",
        title="there is no such conda environment",
        docs="`conda env list` shows them; an environment by its name is looked for in the envs_dirs of the conda that runs.\n",
        printed_by="conda, mamba, micromamba",
        literals=("EnvironmentNameNotFound", "EnvironmentLocationNotFound", "Could not find conda environment", "NotWritableError", "The given prefix does not exist", "DirectoryNotACondaEnvironmentError"),
        patterns=(r"EnvironmentNameNotFound: Could not find conda environment: (?P<name>\S+)|Could not find conda environment: (?P<other>\S+)", r"EnvironmentLocationNotFound: Not a conda environment: (?P<prefix>\S+)|The given prefix does not exist|DirectoryNotACondaEnvironmentError", r"EnvironmentNotWritableError\b"),
        causes=(
            Cause("not-writable", "submission", "the environment belongs to another user, so nothing can be installed into it", "make one of your own: conda create -p FOLDER, or --clone", log=says("NotWritable")),
            Cause("name-of-script", "script", "there is no conda environment {name}", "name one of `conda env list`, or give its folder", codes=("SB617", "SB610", "SB118", "SB414"), script=_environment),
            Cause("name", "submission", "there is no conda environment {name}", "name one of `conda env list`, or give its folder"),
        ),
        matches="""\
EnvironmentNameNotFound: Could not find conda environment: lab
Could not find conda environment: lab
EnvironmentLocationNotFound: Not a conda environment: /home/ada/envs/lab
EnvironmentNotWritableError: The current user does not have write permissions to the target environment.
""",
    ),
    Symptom(
        id="conda-solver",
        title="conda finds no set of packages as they are asked for",
        docs="A package, or a release of it, is in none of the channels, or the packages exclude each other. It does not depend on the job: solve on the login node, once, and let jobs use the environment.\n",
        printed_by="conda, mamba, micromamba",
        releases="all releases; `LibMambaUnsatisfiableError` from 22.11",
        literals=("PackagesNotFoundError", "UnsatisfiableError", "ResolvePackageNotFound", "Could not solve for environment specs", "PackagesNotFoundInChannelsError"),
        patterns=(r"(?P<missing>PackagesNotFound\w*Error|ResolvePackageNotFound)\b", r"(?:LibMamba)?UnsatisfiableError\b|Could not solve for environment specs"),
        causes=(
            Cause("not-in-channels-of-script", "script", "the channels have no package, or no release of it, that a command of the script asks for", "name one that `conda search NAME` shows, or the channel that has it (-c conda-forge)", script=_installing, log=lambda event: possible(event.groups.get("missing"))),
            Cause("not-in-channels", "code", "the channels have no package, or no release of it, that the list of packages asks for", "name one that `conda search NAME` shows, or the channel that has it (-c conda-forge)", log=lambda event: possible(event.groups.get("missing"))),
            Cause("incompatible-of-script", "script", "the packages that a command of the script asks for exclude each other, or what the environment has", "make a new environment with all of them, on the login node, and leave releases open that need not be fixed", script=_installing),
            Cause("incompatible", "code", "the packages that are asked for exclude each other, or what the environment has", "make a new environment with all of them, and leave releases open that need not be fixed"),
        ),
        matches="""\
PackagesNotFoundError: The following packages are not available from current channels:
LibMambaUnsatisfiableError: Encountered problems while solving:
UnsatisfiableError: The following specifications were found to be incompatible with each other:
error    libmamba Could not solve for environment specs
""",
    ),
    Symptom(
        id="packages-not-installed",
        title="packages could not be installed",
        docs="In a job this is mostly the network, or several tasks that install at once.\n",
        printed_by="uv, pip",
        literals=("No matching distribution found", "Could not find a version that satisfies", "No solution found when resolving", "Could not install packages due to", "Failed to install:", "is not a valid wheel", "not a virtual environment", "No virtual environment found", "externally-managed-environment", "Failed to build `", "subprocess-exited-with-error", "Failed to spawn:", "metadata-generation-failed", "failed to create directory `", "failed to remove directory", "Directory not empty (os error"),
        patterns=(
            r"No matching distribution found for (?P<package>\S+)|Could not find a version that satisfies the requirement (?P<wanted>\S+)",
            r"No solution found when resolving|Could not install packages due to|Failed to install: |Failed to build `|subprocess-exited-with-error|metadata-generation-failed",
            r"not a virtual environment|No virtual environment found|externally-managed-environment",
            r"error: (?:Failed to spawn: `(?P<program>[^`]+)`|failed to (?:create|remove) directory|.*Directory not empty \(os error)",
        ),
        causes=(
            Cause("every-task", "script", "every task installs packages into the same environment at once", "install once, before the tasks start", codes=("SB606", "SB416")),
            Cause("environment", "script", "the environment is not the one that is meant", "see the finding", codes=("SB607", "SB610", "SB617", "SB601")),
            Cause("installed-in-job", "script", "the script installs packages, and the compute node does not reach the internet", "install them before the job, on a machine with a network", script=fetching, log=lambda event: possible(_no_network(event))),
            Cause("no-network", "cluster", "packages could not be installed: the node does not reach the internet", "install them before the job, on a machine with a network", log=lambda event: possible(_no_network(event))),
            Cause("packages", "submission", "packages could not be installed in the job", "install them before it, on a machine with a network"),
        ),
        matches="""\
ERROR: No matching distribution found for flash-attn==9.9
ERROR: Could not find a version that satisfies the requirement x==1 (from versions: none)
  x No solution found when resolving dependencies:
error: No virtual environment found; run `uv venv` to create an environment
error: Failed to spawn: `torchrun`
error: subprocess-exited-with-error
""",
    ),
    Symptom(
        id="uv-fallback",
        title="harmless: uv copies where it cannot link",
        docs="The cache and the environment lie on different file systems.\n",
        printed_by="uv",
        releases="0.1 and later",
        role="harmless",
        literals=("Failed to hardlink files", "Failed to clone files", "does not match the project environment path"),
        patterns=(r"Failed to (?:hardlink|clone|reflink) files; falling back|does not match the project environment path",),
        matches="warning: Failed to hardlink files; falling back to full copy. This may lead to degraded performance.\n",
    ),
    Symptom(
        id="library-releases",
        title="packages of the environment are not compatible",
        docs="One was installed, or upgraded, without the release of another that it was written for; or a copy in ~/.local, in the image or on PYTHONPATH comes before the one of the environment. A `Could not import module` of transformers hides the exception above it.\n",
        printed_by="Python",
        releases="`Could not import module` transformers 4.52 on (utils/import_utils.py); the others all",
        near_end=400,
        literals=("cannot import name", "requirements defined correctly", "has no attribute '", "numpy.dtype size changed", "compiled using NumPy", "VersionConflict", "is required for a normal functioning", "but found ", " only supports "),
        patterns=(
            r"ImportError: cannot import name '(?P<module>\w+)'(?: from '?(?P<package>[\w.]+))?",
            r"Could not import module '(?P<module>[\w.]+)'\. Are this object's requirements defined correctly",
            r"AttributeError: (?:partially initialized )?module '(?P<package>[\w.]+)' has no attribute '(?P<module>\w+)'",
            r"numpy\.(?:dtype|ufunc) size changed|module that was compiled using NumPy",
            r"VersionConflict: |ImportError: (?P<wanted>\S+) is required for a normal functioning of this module, but found (?P<found>\S+?)\.?$",
            r"ImportError: (?P<package>\S+) .{0,20}\bonly supports? .+\bcurrently\b",
        ),
        causes=(
            Cause("own-file", "code", "a file of the project has the name of the package {package}, and Python takes it instead", "rename that file", log=says("partially initialized", "circular import")),
            Cause("environment", "script", "the environment with the right releases is not active where the program runs", "activate it inside the job, in the shell that starts the program", codes=("SB610", "SB607", "SB617", "SB618", "SB619")),
            Cause("releases", "code", "the packages are installed in releases that are not compatible: one lacks what another imports from it", "install the releases that the program was written for together (`pip check`, a lock file, one image); for an optional part the program can catch ImportError"),
        ),
        matches="""\
ImportError: cannot import name 'Accelerator' from 'accelerate'
ModuleNotFoundError: Could not import module 'PreTrainedModel'. Are this object's requirements defined correctly?
AttributeError: module 'numpy' has no attribute 'bool8'
ImportError: urllib3 v2 only supports OpenSSL 1.1.1+, currently the 'ssl' module is compiled with 'OpenSSL 1.0.2k-fips'
ValueError: numpy.dtype size changed, may indicate binary incompatibility. Expected 96 from C header, got 88 from PyObject
pkg_resources.VersionConflict: (click 8.1.7 (/opt/env), Requirement.parse('click<8'))
ImportError: tokenizers>=0.21,<0.22 is required for a normal functioning of this module, but found tokenizers==0.19.1.
""",
        others="AttributeError: 'Namespace' object has no attribute 'lr'\n",
    ),
    Symptom(
        id="lock-file-outdated",
        title="the lock file no longer fits the project",
        docs="The project's dependencies were changed, or another release of the tool reads the file, and the command was told to take the lock file as it is.\n",
        printed_by="uv, poetry, npm, cargo, pixi, conda-lock",
        releases="uv 0.4 and later; poetry 1.0 and later",
        literals=("lockfile", "lock file", "package-lock", "poetry.lock"),
        patterns=(
            r"lockfile at [`'\"]?(?P<file>[\w./-]+)[`'\"]? needs to be updated",
            r"[Ll]ock ?file .{0,60}(?:out ?of ?date|outdated|not up to date|not compatible|needs to be updated)",
            r"poetry\.lock .*(?:not up to date|changed significantly|was last generated)|package(?:-lock)?\.json.* are in sync|lock file .* needs to be updated but --locked",
        ),
        causes=(
            Cause("lock", "code", "the lock file of the project does not fit its list of dependencies, and the command may not change it", "write it anew where the job's image and releases are (`uv lock`, `poetry lock`), and commit it; or leave --locked out"),
        ),
        matches="""\
error: The lockfile at `uv.lock` needs to be updated, but `--locked` was provided. To update the lockfile, run `uv lock`.
Warning: poetry.lock is not up to date with pyproject.toml.
The lockfile is out of date
error: the lock file /app/Cargo.lock needs to be updated but --locked was passed to prevent this
""",
    ),
)
