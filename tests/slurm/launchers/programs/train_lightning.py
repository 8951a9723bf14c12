"""Lightning finds its ranks in Slurm's variables. Arguments: the devices of a node, the nodes."""

import sys

import torch.distributed
from lightning.fabric import Fabric
from train import name, write

devices, nodes = (int(word) for word in sys.argv[1:] if word.isdigit())
fabric = Fabric(accelerator="cpu", devices=devices, num_nodes=nodes, strategy="ddp")
fabric.launch()
names = [None] * fabric.world_size
torch.distributed.all_gather_object(names, name())
total = torch.ones(1)
torch.distributed.all_reduce(total)
write(fabric.global_rank, fabric.world_size, fabric.local_rank, names, total.item())
torch.distributed.destroy_process_group()  # gloo, left to the end of the interpreter, aborts now and then
