"""What the words of a command expand to, as values with alternatives and unknown parts."""
