"""The service: HTTP, websocket, the queue of runs and their worker processes."""
