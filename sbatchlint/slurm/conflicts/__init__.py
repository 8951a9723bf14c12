"""The options of a job together: counts, sums, and clashes between options."""
