"""Other processes: one way to start, reach and end them, and a pool of workers here or on a Ray cluster."""
