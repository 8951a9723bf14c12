"""From one node to many: the batch script that starts the same program on more nodes, and the proof that it does."""
