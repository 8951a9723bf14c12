"""What the script says as text and as a program of the shell."""
