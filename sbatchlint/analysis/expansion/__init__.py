"""When variables get their values, and who sees them."""
