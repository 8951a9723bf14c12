"""The output formats, with a module for each; all render a `Report`."""

# Their names on the command line; see `report.formats`.
FORMATS = (
    "full", "concise", "json", "json-lines", "sarif", "github", "gitlab", "junit", "checkstyle", "rdjson", "markdown",
)  # fmt: skip
