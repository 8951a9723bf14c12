"""Output formats: one file each, over the same value."""

# Their names on the command line; `report.formats` has the functions.
FORMATS = ("full", "concise", "json", "json-lines", "github")
