"""Lightning finds its ranks in Slurm's variables. Arguments: the devices of a node, the nodes."""

import sys

import torch.distributed
from lightning.fabric import Fabric
from train import name, write

devices, nodes = map(int, sys.argv[1:])
fabric = Fabric(accelerator="cpu", devices=devices, num_nodes=nodes, strategy="ddp")
fabric.launch()
names = [None] * fabric.world_size
torch.distributed.all_gather_object(names, name())
write(fabric.global_rank, fabric.world_size, fabric.local_rank, names)
