"""Clusters, and batch scripts that ask them for what matters: some can have it, some cannot."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

SMALL = "Boards=1 SocketsPerBoard=2 CoresPerSocket=8"
NODES = f"""\
DefMemPerCPU=1000
Licenses=matlab:4,ansys@flex:2
NodeName=c[1-4] CPUs=16 {SMALL} ThreadsPerCore=1 RealMemory=64000 TmpDisk=100000 Feature=rome,ib
NodeName=s[1-2] CPUs=64 Boards=1 SocketsPerBoard=2 CoresPerSocket=16 ThreadsPerCore=2 RealMemory=256000 Feature=icelake
"""
GPUS = f"""\
NodeName=g[1-2] CPUs=32 {SMALL} ThreadsPerCore=2 RealMemory=128000 Gres=gpu:a100:4 Feature=a100
NodeName=b1 CPUs=64 Boards=1 SocketsPerBoard=2 CoresPerSocket=32 RealMemory=512000 Gres=gpu:h100:8 Feature=h100
"""


class Cluster(NamedTuple):
    """Lines of slurm.conf, and of sacctmgr; `families`: options, a line for each script that is always asked."""

    lines: str
    accounts: tuple[str, ...] = ()
    families: str = ""


ACCOUNTS = (
    "add qos short set MaxWall=1:00:00 Flags=DenyOnLimit",
    "add qos gpu set MaxTRESPerJob=gres/gpu=4,cpu=24 MinTRESPerJob=gres/gpu=1 Flags=DenyOnLimit",
    "add qos wide set MinTRESPerJob=node=2,cpu=16 Flags=DenyOnLimit",
    "add qos lazy set MaxTRESPerJob=cpu=16,mem=32G MaxWall=2:00:00",
    "add qos few set MaxSubmitJobsPerUser=5 MaxTRESPerUser=cpu=32",
    "add qos strict set MaxTRESPU=cpu=32,gres/gpu=2 GrpTRES=node=3,mem=100G MaxTRESPA=node=2 Flags=DenyOnLimit",
    "add qos thin set MaxTRESPerNode=cpu=8,mem=16G Flags=DenyOnLimit",
    "add qos over set MaxTRESPerJob=cpu=200,node=9 Flags=OverPartQOS,DenyOnLimit",
    "add qos reserved set Flags=RequiresReservation",
    "add qos long set MaxWall=7-00:00:00 Flags=PartitionTimeLimit,PartitionMaxNodes",
    "add qos secret",
    "add qos ofgpu set MaxTRESPerJob=gres/gpu=6,node=1 MaxWall=12:00:00 Flags=DenyOnLimit",
    "add qos ofbatch set MaxTRESPerUser=cpu=48",
    "add qos plain set Flags=DenyOnLimit",
    "add qos twice set LimitFactor=2 Flags=DenyOnLimit",
    "add qos hours set MaxTRESMinsPerJob=cpu=900,gres/gpu=240 GrpTRESMins=mem=4T GrpWall=8:00:00 Flags=DenyOnLimit",
    "add account science set GrpTRES=cpu=180,gres/gpu=7 GrpTRESMins=cpu=90000 GrpSubmitJobs=60 GrpWall=6-0",
    "add account lab parent=science set MaxTRESPerJob=cpu=150,mem=900G MaxTRESPerNode=cpu=48 MaxSubmitJobs=45",
    "modify account lab set MaxTRESMinsPerJob=gres/gpu=9000",
    "modify account lab set QOS=normal,short,gpu,wide,lazy,few,strict,thin,over,reserved,long,plain,twice,hours",
    "add account small parent=science set MaxWallDurationPerJob=2:00:00 GrpTRES=node=2,gres/gpu=3",
    "modify account small set GrpTRESRunMins=cpu=2000 QOS=normal,plain,short,hours DefaultQOS=plain",
    "add user daemon Account=lab",
    "add user daemon Account=small MaxTRESPerJob=cpu=12,mem=40G",
)
NAMED = ("", "", "", "-A lab", "-A small", "-A small", "-A Small", "-A other", "-A science", "-A root")
# Nodes of several sizes in one partition, and what of a node a partition keeps back.
MIXED = f"""\
{NODES}{GPUS}PartitionName=batch Nodes=c[1-4] Default=YES MaxCPUsPerNode=8 State=UP
PartitionName=full Nodes=c[1-4] State=UP
PartitionName=equal Nodes=c[1-4] MaxCPUsPerNode=16 State=UP
PartitionName=threads Nodes=s[1-2] MaxCPUsPerNode=32 State=UP
PartitionName=whole Nodes=c[1-4] MaxCPUsPerNode=8 OverSubscribe=EXCLUSIVE State=UP
PartitionName=whole64 Nodes=s[1-2] OverSubscribe=EXCLUSIVE State=UP
PartitionName=user Nodes=c[1-4] MaxCPUsPerNode=8 ExclusiveUser=YES State=UP
PartitionName=force Nodes=c[1-4] MaxCPUsPerNode=8 OverSubscribe=FORCE:4 State=UP
PartitionName=pair Nodes=c1,s1 State=UP
PartitionName=limited Nodes=c1,s1 MaxCPUsPerNode=16 State=UP
PartitionName=all Nodes=c[1-4],s[1-2] State=UP
PartitionName=gpu Nodes=g[1-2],b1 State=UP
PartitionName=cpu Nodes=c[1-4] MaxMemPerCPU=2000 State=UP
PartitionName=node Nodes=c[1-4] MaxMemPerNode=20000 State=UP
PartitionName=twogpu Nodes=g[1-2] State=UP
PartitionName=low Nodes=c[1-4] MaxMemPerNode=12000 State=UP
PartitionName=long Nodes=s[1-2] MaxMemPerCPU=4000 State=UP
PartitionName=few Nodes=c[1-4],s[1-2] MaxNodes=2 State=UP
PartitionName=many Nodes=c[1-4],s[1-2] MinNodes=2 State=UP
PartitionName=down Nodes=c[1-4] State=DOWN
"""
PREFERRED = """\
-p batch -N 2 -n 33 --oversubscribe --mem=0 --prefer=rome
-p batch -N 2 -n 33 --mem=0 --prefer=rome
-p batch -N 2 -n 33 --oversubscribe --prefer=rome
-p batch -N 2 -n 33 --prefer=rome
-p batch -N 2 -n 32 --prefer=rome
-p batch -N 2 -n 33
-p batch -N 1 -n 17 --prefer=rome
-p batch -N 1 -n 17 --mem=0 --prefer=rome
-p batch -n 33 --prefer=rome
-p batch -N 3 -n 49 --prefer=rome
-p batch -N 5 -n 5 --prefer=rome
-p batch -N 5 --mem=0 --prefer=rome
-p batch -N 5 -n 65 --prefer=rome
-p batch -N 1-2 -n 33 --prefer=rome
-p batch -N 1 -c 17 --prefer=rome
-p batch -N 1 --mem=100G --prefer=rome
-p batch -N 2 -n 33 --mem=1G --prefer=rome
-p batch -N 2 -n 33 --prefer=rome --constraint=ib
-p batch -N 2 --ntasks-per-node=17 --prefer=rome
-p batch -N 1 -n 17 -C icelake --prefer=rome
-p batch -N 1 -n 16 -C icelake --prefer=rome
-p batch -N 1 -n 17 -C rome --prefer=icelake
-p batch -N 3 -n 3 -C rome --prefer=icelake
-p batch -N 2 -n 2 -C rome --prefer=icelake
-p batch -N 1 --prefer=h100
-p batch -N 5 --prefer=rome --hold
-p batch -N 5 --prefer=rome -w c1
-p batch -N 5 --prefer=rome -x c1
-p batch -N 4 --prefer=rome -x c1
-p batch -n 129 --prefer=rome
-p batch -n 65 --prefer=rome
-p batch -N 1-5 -n 65 --prefer=rome
-p batch -N 2-6 -n 33 --prefer=rome
-p batch -N 3 --prefer=rome|icelake
-p batch -N 5 --prefer=[rome|icelake]
-p batch -N 1 --mem=100G --prefer=rome -C ib
"""
FAMILIES = """-p batch --exclusive
-p batch --exclusive=user
-p batch --exclusive=mcs -n 4
-p equal --exclusive
-p equal --exclusive=user
-p whole
-p whole --exclusive=user
-p whole --oversubscribe
-p whole64 --hint=nomultithread --mem-per-cpu=7900M
-p whole64 --hint=nomultithread --mem-per-cpu=9000M
-p whole64 --ntasks-per-core=1 --mem-per-cpu=5000M
-p whole64 --mem-per-cpu=5000M
-p user -n 4
-p force -n 4
-p force --exclusive
-p force --exclusive=user
-p threads --exclusive
-p threads --exclusive --hint=nomultithread
-p threads --exclusive=user --threads-per-core=1
-p threads -n 32 -N 1 --hint=nomultithread
-p threads -n 33 -N 1 --hint=nomultithread
-p limited --exclusive
-p limited --exclusive -N 2
-p limited --exclusive -w s1
-p limited -w s1 -c 17
-p limited -w s1 -c 65
-p batch -w c1 -c 9
-p full -w c1 -c 17
-p full -w c1 -n 17 -N 1
-p batch --mincpus=9
-p batch --mincpus=17
-p batch --mincpus=9 -w c1
-p batch -n 33
-p batch -n 32
-p batch -n 40 --overcommit
-p batch -n 40 --oversubscribe
-p batch -n 5 -c 5
-p batch -n 4 -c 5
-p batch -N 1-3 -n 32
-p batch -c 9 --overcommit
-p full --ntasks-per-node=20 --overcommit
-p full -N 1 -n 20 --overcommit
-p full -n 9 -c 6
-p full -n 8 -c 6
-p full -N 2 -n 5 -c 6
-p full -N 2 -n 33 --oversubscribe
-p full -n 9 --mem-per-cpu=25000
-p full -n 8 --mem-per-cpu=25000
-p full -n 5 -c 2 --mem-per-cpu=20000
-p pair -N 2 -n 40
-p pair -N 2 -n 81
-p all -N 3 -n 60
-p all -N 3 -n 150
-p all -N 4 -n 10 -c 16
-p all -N 4 -n 11 -c 16
-p all -N 3 -n 27 --mem-per-cpu=20000
-p all -N 3 -n 28 --mem-per-cpu=20000
-p gpu -N 2 -n 12 --gpus-per-task=1
-p gpu -N 2 -n 13 --gpus-per-task=1
-p gpu -N 2 -n 4 --gpus-per-task=3
-p gpu -N 2 --gpus=10
-p gpu -N 2 --gpus=13
-p gpu -N 3 -n 16 --gpus-per-task=1
-p cpu -n 5 -N 1 --mem-per-cpu=5000
-p cpu -n 6 -N 1 --mem-per-cpu=5000
-p cpu -c 6 --mem-per-cpu=5000
-p cpu -n 21 --mem-per-cpu=5000
-p cpu --mem=34000
-p cpu --mem=0
-p cpu --mem=30000
-p cpu --mincpus=20 --mem-per-cpu=20G
-p all -N 1 -w c[1-3]
-p all -N 2 -C [rome*2&icelake*1]
-p all -N 2 -C [rome*3&icelake*1]
-p few -n 2
-p few -n 3
-p few -n 3 -N 1
-p few --ntasks-per-node=3
-p few -n 4 --overcommit
-p many
-p many -n 1
-p many -n 8
-p many -N 2
-p many --ntasks-per-node=2 -n 8
-p down -c 17
-p down --gres=gpu:1
-p down -N 5
-p gpu -N 1 --gpus=9
-p gpu -N 1 --gpus=17
-p twogpu --mem-per-gpu=40G --gpus=6
-p twogpu --mem-per-gpu=40G --gpus=7
-p long --ntasks-per-node=20 --overcommit --mem=0
-p pair -N 1-3 -w c[1-3]
-p pair -N 2-5 -w c[1-3]
-p batch -n 33 --gpus=4 --ntasks-per-gpu=2
-p batch -c 5 --gpus=4 --ntasks-per-gpu=2
-p node -c 20
-p node -c 21
-p node -n 21
-p node -n 21 -N 1
-p node --ntasks-per-node=13 -c 2 --overcommit
-p low -c 12
-p low -c 13
-p low --mincpus=13
-p low --exclusive
-p low --exclusive=user
-p node --mem-per-cpu=5000 -n 5
-p node --mem-per-cpu=5000 -n 5 -N 1
-p node --mem-per-cpu=2000 --exclusive
-p cpu --overcommit --mem-per-cpu=5000 -n 20
-p cpu --overcommit --mem-per-cpu=5000 -n 21
-p cpu --overcommit --mem-per-cpu=5000 -n 6 -N 1
-p cpu --overcommit --mem-per-cpu=2000 -n 40 -N 1
-p cpu --overcommit --mem-per-cpu=5000 -c 2 -n 9
-p long --overcommit --mem-per-cpu=9G -n 21 --hint=nomultithread
-p cpu -n 17 --mem=4001
-p cpu -n 17 --mem=1000
-p cpu -n 33 -N 2-4 --mem=30000
-p cpu -n 33 -N 3 --mem=30000
-p cpu -n 3 -c 6 -N 1 --mem=24000
-p cpu --overcommit -n 33 -N 2 --mem=30000
-p cpu -n 40 --mem=30000 --ntasks-per-node=10
-p twogpu --exclusive --mem-per-gpu=40G --gres=gpu:1
-p twogpu --exclusive --mem-per-gpu=31G --gres=gpu:1
-p twogpu --exclusive=user --mem-per-gpu=40G --gres=gpu:1
-p gpu --exclusive --mem-per-gpu=60G --gpus=2
-p gpu --exclusive --mem-per-gpu=70G --gpus=1
-p all -N 1 -C [rome*2&icelake*1]
-p all -N 2 -C [rome*3&icelake*1]
-p all -C [icelake*1&rome*5]
-p all -C [icelake*3&rome*1]
-p all -C [rome|icelake] -N 5
-p all -C rome|icelake -N 5
-p all -C (rome|icelake)&ib -N 5
-p all -C icelake&(ib|rome)
-p all -C [(rome&icelake)*2&icelake*1]
-p few -C rome*3
-p gpu --overcommit --gpus-per-task=1 -n 2
-p gpu --overcommit --gpus-per-task=1 -n 3
-p gpu --overcommit --gpus-per-task=1 -n 3 -c 2
-p gpu --overcommit --gpus-per-task=1 -n 4 -N 2
-p gpu --overcommit --gpus-per-task=1 -n 2 -C h100
-p gpu --overcommit --gpus-per-task=1 -n 4 --exclusive
-p gpu --overcommit --gpus-per-task=1 -n 3 --cpus-per-gpu=2
-p few -c 65 --gpus=4 --ntasks-per-gpu=2 --hold
-p gpu -c 17 --gpus=4 --ntasks-per-gpu=2 --hold
-p gpu -c 17 --gpus=4 --ntasks-per-gpu=2
-p gpu -n 8 -c 17 --gpus=4 --ntasks-per-gpu=2 --hold
-p gpu -N 2 -c 33 --gpus=4 --ntasks-per-gpu=2 --hold
-p twogpu -N 1 -n 20 -c 2 --overcommit --gpus=2
-p twogpu -N 1 -n 16 -c 2 --overcommit --gpus=2
-p twogpu -N 1 -n 33 --overcommit --gpus=2
-p twogpu -N 1 -n 20 -c 2 --overcommit --gres=gpu:2
-p twogpu -N 2 -n 40 -c 2 --overcommit --gpus=2
-p twogpu -n 33 -c 2 --overcommit --gpus=2
-p twogpu -n 20 -c 2 --overcommit --gpus=2
-p twogpu -n 70 --overcommit --gpus=2
-p down -N 5 --hold
-p whole64 -n 4 --ntasks-per-socket=2 --mem-per-cpu=9000M
-p whole64 -n 4 --mem-per-cpu=9000M
-p down -n 65 -w c1
-p down -N 5 -w c1
-p full -n 9 --ntasks-per-socket=1
-p full -n 8 --ntasks-per-socket=1
-p full -n 13 -N 2-3 --ntasks-per-socket=2
-p full -n 8 -c 6 --ntasks-per-socket=1
-p full --ntasks-per-node=5 --ntasks-per-socket=2
-p whole64 -n 40 --ntasks-per-socket=2 --mem-per-cpu=9000M
-p whole64 -n 5 --ntasks-per-socket=1
-p long -n 5 -c 2 --ntasks-per-socket=1
-p long -n 13 --ntasks-per-socket=3
-p full -n 9 --ntasks-per-socket=1 -w c1
-p twogpu -n 5 --ntasks-per-socket=1 --gpus=2
-p long -n 65 --ntasks-per-core=1
-p long -n 64 --ntasks-per-core=1
-p long -n 33 -c 3 --ntasks-per-core=1
-p long --ntasks-per-node=33 --ntasks-per-core=1
-p long -c 33 --ntasks-per-core=1
-p twogpu -n 17 -c 3 --ntasks-per-core=1 --gres=gpu:2
-p all -N 2-4 -w c[1-3] --gres=gpu:4
-p all -N 2-4 -w c[1-3] -n 64
-p all -N 2-4 -w c[1-3] -C icelake
-p all -N 3-4 -w c[1-3] --gres=gpu:4
-p gpu -N 1-4 -w g[1-2] --gres=gpu:8
-p cpu --mem=300G --hold
-p cpu --mem=300G
-p cpu --mem=300G -w c1
"""
CLUSTERS = {
    "GPUs by GRES, limits refuse": Cluster(f"""\
{NODES}{GPUS}EnforcePartLimits=ALL
PartitionName=batch Nodes=c[1-4],s[1-2] Default=YES MaxTime=2-00:00:00 State=UP
PartitionName=gpu Nodes=g[1-2] MaxTime=1-00:00:00 State=UP DefaultTime=2:00:00
PartitionName=big Nodes=b1,s1 MaxTime=4:00:00 MaxMemPerNode=200000 State=UP"""),
    "no GPUs, limits let wait": Cluster(f"""\
{NODES}EnforcePartLimits=NO
MaxArraySize=51
PartitionName=batch Nodes=c[1-4] Default=YES MaxTime=1-00:00:00 State=UP
PartitionName=long Nodes=s[1-2] MaxTime=UNLIMITED MaxMemPerCPU=4000 State=UP
PartitionName=down Nodes=s[1-2] State=DOWN"""),
    "whole nodes": Cluster(f"""\
{NODES}{GPUS}EnforcePartLimits=ANY
PartitionName=batch Nodes=c[1-4],s[1-2] Default=YES MaxTime=1-00:00:00 OverSubscribe=EXCLUSIVE State=UP
PartitionName=gpu Nodes=g[1-2],b1 MaxTime=1-00:00:00 OverSubscribe=EXCLUSIVE MaxNodes=2 State=UP
PartitionName=closed Nodes=c1 State=DRAIN""", families=PREFERRED),
    "narrow limits": Cluster(f"""\
{NODES}{GPUS}EnforcePartLimits=ALL
MaxArraySize=101
PartitionName=batch Nodes=c[1-4] Default=YES MaxTime=04:00:00 MaxNodes=2 MaxCPUsPerNode=8 State=UP
PartitionName=gpu Nodes=g[1-2] MaxTime=04:00:00 MaxNodes=1 State=UP
PartitionName=low Nodes=ALL MaxTime=UNLIMITED MinNodes=2 State=UP
PartitionName=kept Nodes=c[1-2] ReqResv=YES State=UP"""),
    "QOS": Cluster(f"""\
{NODES}{GPUS}EnforcePartLimits=ALL
AccountingStorageEnforce=associations,limits,qos
AccountingStorageTRES=gres/gpu
PartitionName=batch Nodes=c[1-4],s[1-2] Default=YES MaxTime=2-00:00:00 MaxNodes=4 QOS=ofbatch State=UP
PartitionName=gpu Nodes=g[1-2],b1 MaxTime=1-00:00:00 QOS=ofgpu AllowQos=normal,gpu,few,over State=UP
PartitionName=free Nodes=ALL MaxTime=UNLIMITED DenyQos=short State=UP
PartitionName=admins Nodes=c1 RootOnly=YES State=UP
PartitionName=lab Nodes=c[1-4],s[1-2] AllowAccounts=lab State=UP
PartitionName=others Nodes=c[1-4] DenyAccounts=small State=UP
PartitionName=below Nodes=c[1-4] AllowAccounts=science State=UP
PartitionName=group Nodes=c[1-4] AllowGroups=adm State=UP""", ACCOUNTS),
    "QOS, limits let wait": Cluster(f"""\
{NODES}{GPUS}EnforcePartLimits=NO
AccountingStorageEnforce=limits
AccountingStorageTRES=gres/gpu
PartitionName=batch Nodes=c[1-4],s[1-2] Default=YES MaxTime=2-00:00:00 MaxNodes=4 QOS=ofgpu State=UP
PartitionName=gpu Nodes=g[1-2],b1 MaxTime=1-00:00:00 AllowQos=normal,gpu,few,over State=UP
PartitionName=lab Nodes=c[1-4],s[1-2] AllowAccounts=lab State=UP
PartitionName=others Nodes=c[1-4] DenyAccounts=small State=UP
PartitionName=below Nodes=c[1-4] DenyAccounts=science State=UP
PartitionName=group Nodes=c[1-4] AllowGroups=adm State=UP""", ACCOUNTS),
    "nodes of several sizes": Cluster(f"{MIXED}EnforcePartLimits=ALL", families=FAMILIES),
    "nodes of several sizes, limits let wait": Cluster(f"{MIXED}EnforcePartLimits=NO", families=FAMILIES),
}  # fmt: skip
QOS = (
    "", "", "short", "gpu", "gpu", "wide", "lazy", "few", "strict", "strict", "thin", "over", "reserved", "long",
    "secret", "none", "plain", "plain", "plain", "twice", "hours",
)  # fmt: skip
SIZES = (
    "-N 1", "-N 2", "-N 5", "-N 1-2", "-N 1-5", "-N 3-9", "-n 8", "-n 20", "-n 64", "-n 200", "-c 8", "-c 32", "-c 65",
    "-N 2 --ntasks-per-node=16", "-N 1 -n 20", "--ntasks-per-node=8 -c 2", "-N 2 --exclusive", "--exclusive=user -n 4",
    "-n 40 --overcommit", "-n 16 --hint=nomultithread", "-c 40 --hint=nomultithread", "-n 4 --ntasks-per-socket=2",
    "--sockets-per-node=4", "--cores-per-socket=16", "--threads-per-core=2 -n 4", "--mincpus=20", "-N 2 -n 2 -c 20",
    "-n 6 --ntasks-per-node=1", "-N 4 -n 8 -c 16 --oversubscribe", "-n 30 --spread-job", "", "", "",
    "-N 3 -n 60", "-n 9 -c 6", "-N 2 -n 33 --oversubscribe", "--exclusive=mcs -N 1", "--exclusive --hint=nomultithread",
    "--ntasks-per-node=20 --overcommit", "-n 7 -c 12", "-N 2 -n 11 --mincpus=12", "-n 17 --overcommit", "--exclusive",
    "-N 2 -n 20 --overcommit -c 2", "-N 2-4 -n 33",
)  # fmt: skip
MEMORY = (
    "", "", "", "--mem=16G", "--mem=60G", "--mem=120G", "--mem=220G", "--mem=300G", "--mem=0", "--mem-per-cpu=2G",
    "--mem-per-cpu=6G", "--mem-per-cpu=20G", "--mem-per-gpu=40G", "--mem=30000",
)  # fmt: skip
RESOURCES = (
    "", "", "", "", "--gres=gpu:1", "--gres=gpu:4", "--gres=gpu:8", "--gres=gpu:a100:2", "--gres=gpu:h100:8",
    "--gpus=2 -N 1", "--gpus=7", "--gpus-per-node=v100:1", "--gres=nvme:1", "--gpus-per-task=1 -n 4", "-G a100:3",
    "--gpus-per-task=2 -n 2 -c 20", "--gpus=4 --ntasks-per-gpu=2", "--gpus-per-node=4 --cpus-per-gpu=10",
    "--gpus-per-socket=2 --sockets-per-node=2", "--gres=gpu:a100:1,gpu:h100:1", "--gres=none",
)  # fmt: skip
OTHERS = (
    "", "", "", "", "", "-C rome", "-C nope", "-C 'icelake|a100'", "-C 'rome&a100'", "-C '[rome*2&icelake*1]'", "-w c1",
    "-w c[1-3]", "-w zz", "-x q1", "-x c[1-4]", "-w c1 -x c1", "--array=0-50", "--array=0-3", "--array=0-100%2",
    "--array=1-1001", "--time=0", "--hold", "--tmp=90G", "--tmp=1T", "--tmp=0", "-L matlab:4", "-L matlab:5",
    "-L ansys@flex,matlab", "-L ansys", "-L matlab:2,matlab:3", "--reservation=none", "--switches=1", "--use-min-nodes",
    "--prefer=rome", "--no-requeue", "--contiguous", "-B 2:8:1",
    "-C '[rome|icelake]'", "-C '(rome|icelake)&ib'",
    "-C '[rome*4&icelake*2]'", "-C 'rome*3'", "-C 'icelake&(ib|rome)'",
)  # fmt: skip
TIMES = (
    "-t 30", "-t 30", "-t 4:00:00", "-t 10:00:00", "-t 1-0", "-t 9-0", "", "", "-t 9-0 --time-min=1:00:00",
    "-t 9-0 --time-min=8-0", "-t 1:00 --time-min=10", "-t 90",
)  # fmt: skip


def scripts(cluster: Cluster, partitions: list[str], seed: str, count: int) -> Iterator[str]:
    """So many scripts for a cluster, the same for the same seed."""
    for line in cluster.families.splitlines():
        yield f"#!/bin/bash\n#SBATCH {line}\nsleep 1\n"
    chosen = random.Random(seed)
    for _ in range(count):
        names = chosen.choice([*partitions * 4, "", "", "nope", ",".join(partitions[:2])])
        lines = [
            chosen.choice(each) if chosen.random() < 0.5 else "" for each in (SIZES, MEMORY, RESOURCES, TIMES, OTHERS)
        ]
        if cluster.accounts:
            name = chosen.choice(QOS)
            lines += [f"-q {name}" if name else "", chosen.choice(NAMED)]
        head = "".join(f"#SBATCH {line}\n" for line in [f"-p {names}" if names else "", *lines] if line)
        yield f"#!/bin/bash\n{head}sleep 1\n"
