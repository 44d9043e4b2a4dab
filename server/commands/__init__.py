"""The commands, one module for each, which is imported when the command is given."""
