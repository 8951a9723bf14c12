"""Python programs beside a script: what they import, call and read. They are parsed with `ast`, and never run."""
