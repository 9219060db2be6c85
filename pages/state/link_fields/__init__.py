"""What a link carries, page by page: each field with how it is read."""
