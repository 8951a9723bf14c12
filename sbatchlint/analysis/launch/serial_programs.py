"""Python programs without ranks, as their own text shows: every copy does the same work."""

from sbatchlint.job.python.module import Call, Module, constant
from sbatchlint.job.python.program import PythonProgram
from sbatchlint.source.regex import Regex

# Packages that read no rank and start no other processes by themselves. Packages that are not listed may.
SERIAL = frozenset({
    "numpy", "scipy", "pandas", "matplotlib", "mpl_toolkits", "seaborn", "plotly", "PIL", "cv2", "skimage", "sklearn",
    "torch", "torchvision", "torchaudio", "timm", "einops", "tqdm", "yaml", "requests", "bs4", "h5py", "netCDF4",
    "xarray", "zarr", "networkx", "sympy", "statsmodels", "cupy", "numba", "pyarrow", "polars", "openpyxl", "nibabel",
    "Bio", "rdkit", "xgboost", "lightgbm", "cloudpickle", "dill", "psutil", "tabulate", "rich", "colorama", "imageio",
    "nltk", "spacy", "gensim", "astropy", "shapely", "geopandas", "rasterio", "sqlalchemy", "safetensors", "tokenizers",
})  # fmt: skip
# Of these, packages that have no threads or processes of their own; numpy only where it multiplies no matrices.
_THREADLESS = frozenset({
    "numpy", "pandas", "matplotlib", "mpl_toolkits", "seaborn", "plotly", "tqdm", "yaml", "requests", "bs4", "h5py",
    "netCDF4", "networkx", "Bio", "cloudpickle", "dill", "psutil", "tabulate", "rich", "colorama", "nltk", "openpyxl",
})  # fmt: skip
_PARALLEL = ("process", "thread", "concurrent", "pool", "job", "worker", "system", "popen", "fork", "spawn", "linalg",
             "dot", "matmul", "einsum", "parallel", "async", "ctypes", "numexpr", "cpu", "exec", "cores")  # fmt: skip
# Words in programs that know which task, host or process they are, or that choose unique names.
_IDENTITY = ("rank", "procid", "localid", "nodeid", "task_id", "slurm", "hostname", "getpid", "pmi_", "mpi", "socket",
             "uuid", "tempfile", "distributed", "world_size", "hostlist", "fcntl", "lock")  # fmt: skip
_WRITERS = Regex(
    r"(?:\.|^(?:numpy|torch|pickle|json|yaml|matplotlib\.pyplot|cv2|shutil|joblib)\.)"
    r"(?:to_csv|to_parquet|to_hdf|to_excel|to_netcdf|to_json|savefig|save|savez|savez_compressed|savetxt|dump|write_text"
    r"|write_bytes|imwrite|save_model|copy|copyfile|move)"
)


def is_serial(program: PythonProgram) -> bool:
    """Whether every copy of a program certainly does the same work."""
    return program.complete and program.foreign <= SERIAL and not program.mentions(*_IDENTITY)


def has_one_thread(program: PythonProgram) -> bool:
    """Whether a program certainly uses one CPU: none of its packages has threads, and it starts no processes."""
    if not program.complete or not program.foreign <= _THREADLESS or program.mentions(*_PARALLEL):
        return False
    return not any(_multiplies(each) for each in program.modules)


def _multiplies(module: Module) -> bool:
    """Whether a module multiplies matrices, for which numpy may have threads."""
    import ast

    return any(isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult) for node in ast.walk(module.tree))


def written_file(program: PythonProgram) -> Call | None:
    """A call that writes a file whose name the program's text tells; None if there is none."""
    for module in program.modules:
        for call in module.calls:
            if call.name == "open" and _mode(call)[:1] in ("w", "x", "a"):
                name = call.node.args[0] if call.node.args else None
            elif _WRITERS.fullmatch(call.name) and call.node.args:
                name = next((each for each in call.node.args if isinstance(constant(each), str)), None)
            else:
                continue
            if name is not None and isinstance(constant(name), str) and not str(constant(name)).startswith("/dev/"):
                return call
    return None


def _mode(call: Call) -> str:
    arguments = call.node.args
    found = constant(arguments[1]) if len(arguments) > 1 else call.keyword("mode")
    return found if isinstance(found, str) else ""
