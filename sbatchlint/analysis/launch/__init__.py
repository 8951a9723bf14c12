"""What the steps start, and how often."""
