"""`accelerate launch`, as in accelerate 1.15 (commands/launch.py, utils/launch.py).

--num_processes is the number of workers on all machines; each machine starts num_processes // num_machines of them. A
configuration file, such as the one that `accelerate config` writes to the user's cache folder, has the defaults of
options. Abbreviations are refused (allow_abbrev=False); `-` and `_` are the same.
"""

from sbatchlint.job.argv import syntax
from sbatchlint.job.launchers.model import Call, Launcher, Rendezvous, Setting, host_and_port

_FLAGS = """h/help q/quiet cpu multi_gpu tpu enable_cpu_affinity dynamo_use_fullgraph dynamo_use_dynamic
dynamo_use_regional_compilation use_deepspeed use_fsdp use_parallelism_config use_megatron_lm same_network m/module
no_python tpu_cluster no_tpu_cluster tpu_use_sudo downcast_bf16 fp8_use_autocast_during_eval debug use_mps_device
use_xpu ipex fp16"""
_VALUES = """config_file mixed_precision num_processes num_machines num_cpu_threads_per_process dynamo_backend
dynamo_mode gpu_ids machine_rank main_process_ip main_process_port t/tee log_dir role rdzv_backend rdzv_conf
max_restarts monitor_interval vm env main_training_function deepspeed_config_file zero_stage
offload_optimizer_device offload_param_device offload_optimizer_nvme_path offload_param_nvme_path
gradient_accumulation_steps gradient_clipping zero3_init_flag zero3_save_16bit_model deepspeed_hostfile
deepspeed_exclusion_filter deepspeed_inclusion_filter deepspeed_multinode_launcher deepspeed_moe_layer_cls_names
mpirun_hostfile mpirun_ccl aws_access_key_id aws_secret_access_key"""

# Options of fsdp, megatron_lm, parallelism_config and fp8 all take a value; `greedy` covers those not listed.
SYNTAX = syntax(_VALUES, _FLAGS, underscores=True, greedy=True, numbers=True)

MODULES = {"accelerate.commands.launch": "accelerate"}


class Accelerate(Launcher):
    """`accelerate launch`."""

    @property
    def cpu(self) -> bool:
        use = None if self.configured is None else self.configured.get("use_cpu")
        return "cpu" in self.flags or use is not None and use.text in ("true", "True", "yes")

    @property
    def config_file(self) -> Setting | None:
        return self.setting("config_file") if self.configured is None else None

    @property
    def total_processes(self) -> Setting | None:
        return self.setting("num_processes")

    @property
    def machines(self) -> Setting | None:
        return self.setting("num_machines")

    @property
    def processes_per_task(self) -> int | str | None:
        if self.cpu:
            # --cpu goes to the simple launcher, which starts the program once.
            return 1
        total = self.setting("num_processes")
        machines = self.setting("num_machines")
        if total is None or total.number is None:
            if total is None and self.certain and self.config_file is None and machines is None:
                return "auto"
            return None
        if machines is None:
            return total.number if self.certain and self.config_file is None else None
        if not machines.number or machines.number < 1:
            return None
        return total.number // machines.number

    @property
    def node_rank(self) -> Setting | None:
        return self.setting("machine_rank")

    @property
    def rendezvous(self) -> Rendezvous:
        setting = self.setting("rdzv_backend")
        certain = self.certain and self.config_file is None
        backend = setting.text if setting is not None else "static" if certain else None
        address = self.setting("main_process_ip")
        port = self.setting("main_process_port")
        if address is not None and address.value is not None and port is None:
            host, written = host_and_port(address)
            if written is not None:
                return Rendezvous(backend, host, written, None)
        return Rendezvous(backend, address, port, None)

    @property
    def hostfile(self) -> Setting | None:
        return self.setting("deepspeed_hostfile", "mpirun_hostfile")


def accelerate(call: Call) -> Launcher:
    """The launcher of a call, whose own arguments are those of `accelerate launch`."""
    launcher = Accelerate("accelerate", call, call.read(SYNTAX))
    launcher.read_program_kind()
    if launcher.cpu:
        launcher.spawns = "mpirun_hostfile" in launcher.options
    return launcher
