"""What the commands of Slurm print about a cluster: a module for each, and `sections`, which tells them apart."""
