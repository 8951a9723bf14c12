"""From the log of a failed job to the line of the script that caused it. Nothing of this is loaded for linting."""
