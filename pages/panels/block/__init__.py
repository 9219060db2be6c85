"""The panels of the page One block."""
