"""The service: HTTP and websocket around runs, and the files of workflows and brains."""
