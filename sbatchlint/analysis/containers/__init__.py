"""What the containers of the job are, and what they keep from their programs."""
