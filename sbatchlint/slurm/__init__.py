"""A model of Slurm: options, values, releases, environment, and the reading of directives."""
