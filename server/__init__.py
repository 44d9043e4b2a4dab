"""The command line, and the service with the editor."""
