"""The same with the real thing: a process group of torch, and an all_reduce."""

import datetime
import os

import torch
import torch.distributed
from train import SECONDS, name, stay, write

torch.distributed.init_process_group("gloo", timeout=datetime.timedelta(seconds=SECONDS))
rank, size = torch.distributed.get_rank(), torch.distributed.get_world_size()
total = torch.ones(1)
torch.distributed.all_reduce(total)
assert total.item() == size
names = [None] * size
torch.distributed.all_gather_object(names, name())
write(rank, size, int(os.environ["LOCAL_RANK"]), names, total.item())
stay()
torch.distributed.destroy_process_group()
