"""What one session keeps."""
