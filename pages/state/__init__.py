"""What the link says, read and checked, and what follows from it: functions of values."""
