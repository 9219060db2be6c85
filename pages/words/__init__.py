"""Words: the language, the terms of the field, numbers as they are read."""
