"""Questions that several checks, or the plan, ask of a job, as plain functions."""
