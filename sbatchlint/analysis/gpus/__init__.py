"""The GPUs of a job, and who uses them."""
