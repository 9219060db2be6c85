"""What a recording means."""
