"""The syntax of bash: from text to a typed tree."""
