"""The programs that scripts call, and what each of them does: its traits.

To teach sbatchlint a program, add its name to the row with its traits, or a row. A program is named without its
folder. Rows stand below a heading of their kind, by their first name.
"""

from functools import cache

# What the traits mean. A program has a trait whichever way it is called; what depends on its options is for the asker.
TRAITS = {
    "minor": "prints, looks around, prepares the shell or tidies up; no job is there for that",
    "stages": "brings data and programs to where they are needed: the work of a job that does nothing else",
    "quick": "is done at once",
    "repeatable": "means the same however often a node runs it",
    "looks": "prints, looks or waits, and changes nothing",
    "monitors": "looks on while others work, and is meant to be ended with the job",
    "copies": "copies, fetches or unpacks files",
    "places": "takes the place where the rest goes as its last word",
    "stores": "is the client of an object store",
    "packs": "packs files into one, or compresses them",
    "installs": "installs software",
    "conda": "manages environments of conda",
    "container": "starts, builds or enters containers",
    "shell": "runs a script of the shell",
    "screen": "wants a screen and somebody before it",
    "prints": "prints its words, and does nothing else",
}

PROGRAMS = {
    # All
    ". env source": "minor repeatable",
    "7z": "packs",
    ": [ cat cut date df free grep head hostname ls sed test tr true uptime wc": "minor quick repeatable looks",
    "[[ break continue false stat": "minor quick looks",
    "alias deactivate declare exit jobs let local mail mailx ml popd pushd readlink readonly realpath": "minor quick",
    "apptainer buildah docker enroot nerdctl nvidia-docker podman podman-hpc shifterimg singularity": "container",
    "apt apt-get pip pip3 pipx yum": "stages installs",
    "arch arp bc bind builtin cal chgrp chown clear clinfo cmp column comm command compgen complete compopt": "minor",
    "aria2c az bunzip2 cargo cmake dd g++ gcc gfortran gunzip hsi htar icc icpc ifort make mcopy meson": "stages",
    "awk find sync": "minor repeatable looks",
    "aws gcloud gsutil rclone s3cmd": "stages stores",
    "azcopy mc s5cmd": "stores",
    "basename cd chmod dirname export id lscpu mkdir module nproc printenv pwd rm scontrol": "minor quick repeatable",
    "bash dash ksh sh zsh": "shell",
    "bzip2 gzip pigz xz zip zstd": "stages packs",
    "conda mamba micromamba": "minor installs conda",
    "cp rsync": "stages repeatable copies places",
    "curl wget": "stages looks copies",
    "dcgmi dstat iostat kill mpstat scancel vmstat": "minor monitors",
    "dcp": "copies places",
    "diff dig dirs dmesg dot du enable ethtool eval exec expr factor fg fgrep file fold fortune fuser getconf": "minor",
    "disown": "quick",
    "dmon dool pidstat sar ssh": "monitors",
    "dnf uv virtualenv": "installs",
    "echo printf": "minor quick repeatable looks prints",
    "egrep nslookup ping": "minor looks",
    "emacs nano screen tmux vi vim": "screen",
    "getent getopts groups hash history host hostnamectl hwloc-ls ibdev2netdev ibstat ibv_devinfo ifconfig": "minor",
    "git": "minor copies",
    "htop nvtop": "minor monitors screen",
    "info ip ipcs jq killall ldconfig ldd less lfs link locale login logout lsb_release lsmod lsns lsof lspci": "minor",
    "install scp": "stages copies places",
    "ln mv sbcast": "minor copies places",
    "logger": "minor prints",
    "lstopo lstopo-no-graphics man mapfile md5sum mkfifo mktemp modinfo module-info more mpack mutt myquota": "minor",
    "mpic++ mpicc mpicxx mpif77 mpif90 ninja npm nvfortran spack svn unpigz unxz": "stages",
    "namei netstat nl nohup ntpdate numactl nvcc od paste pgrep pidof pkill pr quota read readarray renice": "minor",
    "nc ncat": "looks",
    "nvidia-smi ps rocm-smi sleep tail": "minor repeatable looks monitors",
    "pdcp sgather": "copies",
    "reset rev rocminfo route sacctmgr sdiag sendmail sha1sum sha256sum shred sinfo split sprio sreport ss": "minor",
    "return rmdir sacct sbatch seff seq shift shopt squeue sstat times trap type typeset uniq": "minor quick",
    "set sort tee touch ulimit umask uname unset which whoami": "minor quick repeatable",
    "sftp unzip": "stages copies",
    "sshare stty sum suspend sysctl tabs tac tic time timedatectl timeout tput tracepath traceroute tree": "minor",
    "tar": "stages repeatable copies packs",
    "top": "minor looks monitors screen",
    "truncate tty unalias unlink users uuidgen vulkaninfo w wait whereis who xargs yes": "minor",
    "watch": "monitors screen",
}


@cache
def programs_with(*traits: str) -> frozenset[str]:
    """The names of the programs with any of these traits."""
    if not TRAITS.keys() >= set(traits):
        raise ValueError(f"no such trait: {traits}")
    return frozenset(
        name for names, own in PROGRAMS.items() if not set(traits).isdisjoint(own.split()) for name in names.split()
    )


def has_trait(name: str | None, *traits: str) -> bool:
    """Whether a program of this name (without its folder) has any of these traits."""
    return name in programs_with(*traits)
