"""What Slurm knows: options, values, versions, environment, and the reading of directives."""
