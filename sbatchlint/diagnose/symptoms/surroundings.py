"""What a program needs of its surroundings, and a compute node does not have: compilers, certificates, graphics, rights."""

from sbatchlint.bash.values import text_of
from sbatchlint.diagnose.clues import says
from sbatchlint.diagnose.evidence import assigned, names_kind, options, settings, shown, spans_of
from sbatchlint.diagnose.questions import calls, requests
from sbatchlint.diagnose.symptom import Cause, Event, Symptom, Verdict
from sbatchlint.job import Job
from sbatchlint.job.environment import GPU_OPTIONS
from sbatchlint.job.programs import commands_named


def _any_kind(job: Job, event: Event) -> Verdict:
    """The options that ask for GPUs, where none names a kind and no constraint does."""
    found = settings(job, *GPU_OPTIONS)
    is_named = options(job, "constraint", "nodelist") or any(map(names_kind, found))
    return None if is_named else shown(spans_of(found))


def _cuda_modules(job: Job, event: Event) -> Verdict:
    """The modules of CUDA that the script loads, and where it sets the search path of libraries."""
    loads = commands_named(job, "module", "ml")
    found = [each for each in loads if any("cud" in (text_of(word) or "").lower() for word in each.argv[1:])]
    return shown((*spans_of(found), *assigned(job, "LD_LIBRARY_PATH")))


# fmt: off
SYMPTOMS = (
    Symptom(
        id="git-ownership",
        title="git does not trust a folder of another owner",
        docs="A clone that belongs to a colleague, to the group, or to root in a container.\n",
        printed_by="git",
        releases="2.35.2 and later",
        near_end=400,
        literals=("dubious ownership", "safe.directory"),
        patterns=(r"detected dubious ownership in repository at '(?P<path>[^']+)'|safe\.directory",),
        causes=(Cause("owner", "code", "git does nothing in a repository that belongs to another user", "git config --global --add safe.directory PATH, once on the login node (in a container in its own home), or clone it as yourself"),),
        matches="fatal: detected dubious ownership in repository at '/proj/code'\n",
    ),
    Symptom(
        id="dask-memory",
        title="workers of Dask ran out of memory",
        docs="A worker may take its part of the memory that Dask sees (`--memory-limit`), and is started again beyond 95 % of it; a task that did so to several workers is given up (KilledWorker).\n",
        printed_by="Dask (distributed)",
        near_end=400,
        literals=("was killed by ", "KilledWorker", "memory budget. Restarting"),
        patterns=(r"\b[Ww]orker(?: process)? \S+ was killed by (?:unknown signal|signal \d+)", r"KilledWorker\b|exceeded \d+% memory budget\. Restarting",),
        causes=(
            Cause("heap", "script", "the workers of Dask may take more memory than the job has", "set --memory-limit (LocalCluster(memory_limit=…)) to --mem divided by the number of workers", codes=("SB620",)),
            Cause("memory-of-script", "script", "a task of Dask needs more memory than one of its workers may take", "ask for more with --mem, start fewer workers with more memory each, or make the chunks smaller", script=requests("mem", "mem-per-cpu")),
            Cause("memory", "submission", "a task of Dask needs more memory than one of its workers may take", "ask for more with --mem, start fewer workers with more memory each, or make the chunks smaller"),
        ),
        matches="distributed.scheduler.KilledWorker: Attempted to run task 'sum-1' on 4 different workers\ndistributed.nanny.memory - WARNING - Worker tcp://n1:4 (pid=9) exceeded 95% memory budget. Restarting...\ndistributed.nanny - WARNING - Worker process 7779 was killed by unknown signal\n",
    ),
    Symptom(
        id="cuda-home",
        title="the CUDA toolkit is not found",
        docs="Programs that compile for the GPU while they run need nvcc: a module, or conda's cuda-nvcc, and CUDA_HOME. The driver of the node has none.\n",
        printed_by="torch.utils.cpp_extension, DeepSpeed, JAX, Numba, CuPy, Triton",
        literals=("CUDA_HOME", "CUDA_PATH", "nvcc was not found", "libNVVM", "libdevice", "ptxas", "CUDA toolkit"),
        patterns=(r"CUDA_(?:HOME|PATH)\b.{0,60}(?:not (?:set|found|exist)|does not exist|unset|missing)|nvcc was not found|(?:Cannot|Can't|Couldn't|not) find (?:libdevice|ptxas)|libNVVM cannot be found|Missing libdevice|CUDA toolkit (?:was )?not found",),
        causes=(Cause("toolkit", "submission", "the program compiles for the GPU, and finds no CUDA toolkit in the job", "load its module in the script (`module load cuda/…`) of the release that the program was built with, and export CUDA_HOME=$(dirname $(dirname $(which nvcc)))"),),
        matches="deepspeed.ops.op_builder.builder.MissingCUDAException: CUDA_HOME does not exist, unable to compile CUDA op(s)\nOSError: CUDA_HOME environment variable is not set. Please set it to your CUDA install root.\n",
    ),
    Symptom(
        id="gpu-too-old",
        title="the GPU is of an older kind than the program needs",
        docs="BF16, FP8 and the fast kernels for attention need Ampere or Hopper. `--gres=gpu:TYPE:N`, or `--constraint`, says which GPUs a job takes; without, it takes what is free.\n",
        printed_by="flash-attn, transformers, vLLM, xFormers, PyTorch",
        near_end=400,
        literals=("Ampere", "Hopper", "support bf", "compute capability", "cuda capability", "bfloat"),
        patterns=(r"(?i)(?:error|exception|assert\w*|fatal)\b.*(?:only supports? (?:ampere|hopper|gpus)|does(?:n't| not) support bf(?:loat)?16|bfloat16 is only supported|(?:compute|cuda) capability\b.{0,60}(?:at least|required|lower|less|minimum|not supported)|requires? (?:\w+ ){0,3}(?:compute capability|ampere|hopper))",),
        causes=(
            Cause("any-kind", "script", "the program needs a newer kind of GPU than the job got, and the script takes any", "name the kind (--gres=gpu:TYPE:N, --constraint), or let the program use float16 and its own attention", script=_any_kind),
            Cause("kind", "submission", "the program needs a newer kind of GPU than the job got", "ask for one (--gres=gpu:TYPE:N, --constraint, another partition), or let the program use float16 and its own attention"),
        ),
        matches="RuntimeError: FlashAttention only supports Ampere GPUs or newer.\nValueError: Your setup doesn't support bf16/gpu. You need Ampere GPU with cuda>=11.0\n",
    ),
    Symptom(
        id="cudnn-version",
        title="the cuDNN that is found is not the one that the program was built for",
        docs="pip's packages bring a cuDNN; LD_LIBRARY_PATH of a module puts an older one before it.\n",
        printed_by="torch, TensorFlow, JAX",
        literals=("cuDNN version incompatibility", "Loaded runtime CuDNN library", "cuDNN version"),
        patterns=(r"cuDNN version incompatibility|Loaded runtime CuDNN library: \S+ but source was compiled with",),
        causes=(
            Cause("module", "script", "a module, or LD_LIBRARY_PATH, of the script puts another cuDNN before the one that the program brings", "leave it out: the packages of pip and conda bring CUDA and cuDNN", script=_cuda_modules),
            Cause("inherited", "submission", "LD_LIBRARY_PATH puts another cuDNN before the one that the program brings", "unset LD_LIBRARY_PATH in the script, or `module purge` first: the packages of pip and conda bring CUDA and cuDNN"),
        ),
        matches="RuntimeError: cuDNN version incompatibility: PyTorch was compiled against (8, 7, 0) but found runtime version (8, 4, 1).\n",
    ),
    Symptom(
        id="certificate",
        title="a certificate is not accepted",
        docs="A proxy of the site that signs by itself, a node (or an image) without the certificates of the system, or a clock that is wrong.\n",
        printed_by="OpenSSL, requests, urllib, curl, wget, git, pip, conda",
        near_end=400,
        literals=("CERTIFICATE_VERIFY_FAILED", "SSLCertVerificationError", "SSL certificate problem", "certificate verify failed", "unable to get local issuer certificate", "annot verify", "signed by unknown authority", "PKIX path building failed"),
        patterns=(r"CERTIFICATE_VERIFY_FAILED|SSL certificate problem|certificate verify failed|cannot verify \S+ certificate|certificate signed by unknown authority|PKIX path building failed",),
        causes=(Cause("certificate", "cluster", "the node does not know who signed the certificate: that of the site's proxy, or certificates are missing there", "fetch it beforehand on the login node, or name the certificates of the site (SSL_CERT_FILE, REQUESTS_CA_BUNDLE, CURL_CA_BUNDLE, GIT_SSL_CAINFO)"),),
        matches="requests.exceptions.SSLError: (MaxRetryError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed)\ncurl: (60) SSL certificate problem: unable to get local issuer certificate\n",
    ),
    Symptom(
        id="no-opengl",
        title="a program needs OpenGL, and the node has no screen for it",
        docs="Programs that render without a screen use EGL, by the driver of the GPU, or OSMesa, by the processor.\n",
        printed_by="MuJoCo, PyOpenGL, pyrender, VTK, ParaView, Blender, Gymnasium",
        near_end=200,
        literals=("OpenGL platform library", "GLFWError", "initialize EGL", "EGL error", "EGL is not", "glfwInit", "valid OpenGL context", "bad X server connection", "GLXBad", "OSMesa", "gladLoadGL", "MUJOCO_GL", "NoSuchDisplayException"),
        patterns=(r"OpenGL platform library|(?:[Cc]annot|[Ff]ailed to|[Cc]ould not|[Uu]nable to) (?:\w+ ){1,4}(?:EGL|OpenGL|GLX|OSMesa)\b|GLFWError|NoSuchDisplayException|bad X server connection|GLXBad|EGL\w* (?:is )?not (?:supported|available|initialized)",),
        causes=(Cause("rendering", "code", "the program draws by OpenGL, and a node has no screen for it", "let it draw without one: MUJOCO_GL=egl or PYOPENGL_PLATFORM=egl on a node with GPUs, osmesa without, pvbatch --force-offscreen-rendering for ParaView, or `xvfb-run` before it"),),
        matches="mujoco.FatalError: an OpenGL platform library has not been loaded into this process\nERROR: Could not initialize EGL\n",
    ),
    Symptom(
        id="openmp-runtimes",
        title="two libraries of OpenMP in one process",
        docs="Packages bring a library of OpenMP of their own (libiomp5, libgomp): usually conda's MKL beside pip's torch.\n",
        printed_by="Intel MKL, libiomp",
        literals=("MKL_THREADING_LAYER", "already initialized.", "OMP: Error"),
        patterns=(r"MKL_THREADING_LAYER=\w+ is incompatible with", r"OMP: Error #15: |Initializing lib\w+.*, but found lib\w+.* already initialized"),
        causes=(
            Cause("threading-layer", "code", "MKL and another library bring two OpenMPs into one process", "export MKL_THREADING_LAYER=GNU in the script, or import numpy before torch", log=says("MKL_THREADING_LAYER")),
            Cause("two-runtimes", "code", "two packages bring two OpenMPs into one process", "install them all by conda or all by pip; KMP_DUPLICATE_LIB_OK=TRUE only hides it"),
        ),
        matches="Error: mkl-service + Intel(R) MKL: MKL_THREADING_LAYER=INTEL is incompatible with libgomp-a34b.so.1 library.\nOMP: Error #15: Initializing libiomp5.so, but found libiomp5.so already initialized.\n",
    ),
    Symptom(
        id="sudo",
        title="a job cannot become root",
        docs="Nobody types a password in a job, and users of a cluster are not administrators. Packages of the system go into an environment or an image.\n",
        printed_by="sudo, apt, dpkg, yum, systemctl",
        near_end=200,
        literals=("is not in the sudoers file", "a password is required", "terminal is required", "sudo: ", "are you root", "you are not root", "dpkg frontend lock"),
        patterns=(r"is not in the sudoers file|sudo: (?:a (?:password|terminal) is required|no tty present|effective uid|unable to|command not found|must be)|are you root\?|(?:must be|are not) root\b",),
        causes=(
            Cause("script", "script", "the script needs root, which a job cannot have", "leave sudo out: install into an environment of your own (conda, spack, pip --user) or into an image of a container", script=calls("sudo", "apt", "apt-get", "yum", "dnf")),
            Cause("program", "code", "a program needs root, which a job cannot have", "install what it needs into an environment of your own, or into an image of a container, beforehand"),
        ),
        matches="sudo: a terminal is required to read the password; either use the -S option\nE: Could not open lock file /var/lib/dpkg/lock-frontend - open (13: Permission denied) are you root?\n",
        others="sudo: using the cached credentials\n",
    ),
)
