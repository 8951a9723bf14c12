"""Conversion of a batch script to several nodes: the script that starts the same program there, and its proof."""
