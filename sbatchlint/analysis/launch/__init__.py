"""What steps start, and how often."""
