"""Output formats: one file each, over the same value."""

# Their names on the command line; `report.formats` has the functions.
FORMATS = (
    "full", "concise", "json", "json-lines", "sarif", "github", "gitlab", "junit", "checkstyle", "rdjson", "markdown",
)  # fmt: skip
