"""Stands for ms-swift without what it needs to train: its command line is the real one (see cli/__init__.py)."""
