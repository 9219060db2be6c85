"""What a model can learn, and how it learns it."""
