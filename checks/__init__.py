"""The checks, one file each; `sbatchlint.registry` finds them by their names."""
