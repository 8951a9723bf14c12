"""Python programs of the project: what they import, call and read. They are parsed with `ast`, and never run."""
