"""What a model costs: parameters, memory and time."""
