"""Other processes: one way to start, reach and end them,
and a pool of workers on this machine or on a Ray cluster.
"""
