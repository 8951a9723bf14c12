"""Which GPUs the job gets, and who sees them."""
