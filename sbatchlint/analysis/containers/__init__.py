"""The containers of the job, and what their programs cannot see."""
