"""How the job ends, and what relies on it."""
