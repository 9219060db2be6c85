"""What is changed inside the model, on every page that shows one."""
