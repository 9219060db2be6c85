"""Parts of the story that several pages tell: caches, pictures and words brought together."""
