"""What the job asks for, and what does not go together in it."""
