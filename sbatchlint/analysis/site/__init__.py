"""What the cluster of the settings makes of a job; nothing where there is no profile."""
