"""Where programs keep their caches, results and logs."""
