"""What the options of a job make together: counts, sums, and clashes between options."""
