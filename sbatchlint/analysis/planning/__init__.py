"""The plan of a job: what each step, task and process is."""
