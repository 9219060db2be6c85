"""What is set, measured and said of models that read a source and write a target."""
