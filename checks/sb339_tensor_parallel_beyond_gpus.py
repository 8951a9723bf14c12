"""The program ends: a model is split over more GPUs than the job has.

`vllm serve --tensor-parallel-size 8` in a job with four GPUs: vLLM and SGLang start a worker for each part, and there
is no GPU for some. vLLM since the end of 2025 ends at once (`World size (8) is larger than the number of available GPUs
(4)`). Before, it turned to Ray and waited half an hour for GPUs of a Ray node that never comes. The parts of a pipeline
(`--pipeline-parallel-size`) multiply the number.

Counted are the GPUs of all nodes, as Ray joins them; of one node where vLLM has neither Ray nor `--nnodes`.

## Fix

None: the request may be too small, or the split too fine.

## References

vllm/config/parallel.py (0.11.2; vllm-project/vllm#25775, #30140 and #29447, which is refused on two nodes);
python/sglang/srt/server_args.py (0.4); launcher/src/main.rs of text-generation-inference
"""

from collections.abc import Iterator

from sbatchlint.analysis.expansion.sourced import may_set_variables
from sbatchlint.analysis.script.submit_lines import is_submitted_with_gpus
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, is_open, span_of, text_of
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span
from sbatchlint.job.argv import program_options
from sbatchlint.job.gpus import chosen_devices, devices_chosen, step_gpus
from sbatchlint.job.launchers import python_of
from sbatchlint.job.programs import commands_with_option
from sbatchlint.job.steps import enclosing_step
from sbatchlint.source.numbers import is_number, parse_integer

CARD = Card(
    "SB339", "tensor-parallel-beyond-gpus", severity="error", fix="never", since="0.1.0", batch=True, certain=True,
    homogeneous=True, seen="vllm/config/parallel.py of 0.8",
)  # fmt: skip

_TENSOR = frozenset({"--tensor-parallel-size", "--tensor_parallel_size", "--tp-size", "--num-shard", "-tp", "--tp"})
_PIPELINE = frozenset({"--pipeline-parallel-size", "--pipeline_parallel_size", "--pp-size", "-pp", "--pp"})
# Short names, which other programs have for something else.
_SHORT = frozenset({"--num-shard", "-tp", "--tp", "--tp-size", "-pp", "--pp", "--pp-size"})
_SERVERS = ("vllm", "sglang", "lmdeploy", "text-generation-launcher", "aphrodite")


def check(job: Job) -> Iterator[Finding]:
    commands = commands_with_option(job, lambda word: word.partition("=")[0] in _TENSOR)
    if not commands or is_submitted_with_gpus(job):
        return
    beyond: dict[Span, list[Finding | None]] = {}
    for command in commands:
        if command.children or command.phase is Phase.SUBMIT or job.launcher_of(command) is not None:
            continue
        sizes = _sizes(command)
        if sizes is None:
            continue
        number, span = sizes
        gpus, where = _gpus(job, command)
        found = None
        if gpus is not None and number > gpus:
            found = Finding(
                span,
                f"the model is split over {number} GPUs, but {where} {gpus}, so the program fails; write at most "
                f"{gpus}, or request more",
            )
        beyond.setdefault(span, []).append(found)
    for findings in beyond.values():
        if findings[0] is not None and None not in findings:
            yield findings[0]


def _sizes(command: Invocation) -> tuple[int, Span] | None:
    """Over how many GPUs a command splits its model, and the option that says so; None where that is not known."""
    number, span = 1, None
    for name, value, word in program_options(command.argv[1:], (_TENSOR | _PIPELINE).__contains__):
        text = None if value is None else text_of(value)
        if name in _SHORT and not _is_server(command):
            return None
        if text is None or not is_number(text):
            return None
        number *= parse_integer(text)
        span = span_of(word) if name in _TENSOR else span
    return None if span is None else (number, span)


def _is_server(command: Invocation) -> bool:
    """Whether a command is one of the servers that have the short options."""
    python = python_of(command)
    name = (python.text or "") if python is not None else command.name or ""
    return name.startswith(_SERVERS)


def _gpus(job: Job, command: Invocation) -> tuple[int | None, str]:
    """The GPUs that a command can use at most, with those of other nodes through Ray; None if unknown."""
    step = enclosing_step(command.context)
    if devices_chosen(command, step):
        return chosen_devices(command), "CUDA_VISIBLE_DEVICES has"
    nodes, per_node, total = job.request.exact_nodes(), job.request.gpus_per_node(), job.request.gpus.total
    if step is not None and (step.in_other_job or step.request is not job.request):
        return None, ""
    if per_node is None and step is not None:
        per_node = step_gpus(job, step).on_node
    if per_node is not None and nodes is not None and nodes > 1 and _is_on_one_node(job, command):
        return per_node, "without Ray it finds"
    if per_node is not None and nodes is not None:
        return per_node * nodes, "the job has"
    return total, "the job has"


def _is_on_one_node(job: Job, command: Invocation) -> bool:
    """Whether a command is a vLLM server that certainly does not reach GPUs of other nodes."""
    if not _is_server(command) or "vllm" not in " ".join(command.words[:4]):
        return False
    joining = ("--distributed-executor-backend", "--distributed_executor_backend", "--nnodes", "--config")
    if any(word.startswith(joining) for word in command.words) or any(map(is_open, command.argv)):
        return False
    return "ray" not in job.text.string.lower() and not may_set_variables(job)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        vllm serve big/model «--tensor-parallel-size» 8
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4
        TP=8
        srun --nodes=1 python -m vllm.entrypoints.openai.api_server --model big «-tp» $TP --pipeline-parallel-size 2
        """,
        title="times the parts of a pipeline",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus=4
        export CUDA_VISIBLE_DEVICES=0,1
        python evaluate.py --model big «--tensor_parallel_size=4»
        """,
        title="of the GPUs that the script chooses",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH --nodes=2 --gpus-per-node=4\nvllm serve big «--tensor-parallel-size» 8\n",
        title="the other node does not take part",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4
        HEAD=$(hostname)
        srun --nodes=1 ray start --head --block &
        srun --nodes=1 --relative=1 ray start --address=$HEAD:6379 --block &
        vllm serve big --tensor-parallel-size 8 --distributed-executor-backend ray
        """,
        title="through Ray",
    ),
    Good("#!/bin/bash\n#SBATCH --nodes=1 --gpus-per-node=4\nvllm serve big --tensor-parallel-size $TP\n"),
    Good("#!/bin/bash\n#SBATCH --nodes=1 --gpus-per-node=4\n./simulate --tp 8\n", title="another program"),
]
