"""Workflows as one file, with everything that another machine needs to play them."""
