"""Output formats: one file each, over the same value."""

# By name, for the command line; see `report.formats`.
FORMATS = ("full", "concise", "json", "json-lines", "github")
