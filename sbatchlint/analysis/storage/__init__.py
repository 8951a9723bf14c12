"""Where programs keep what they need and what they make, and what they tell."""
