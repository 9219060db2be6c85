"""A page: its frame, its sidebar, its panels."""
