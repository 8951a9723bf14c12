"""Stands for the loggers of composer."""
