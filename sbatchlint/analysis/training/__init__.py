"""The arithmetic of distributed training."""
