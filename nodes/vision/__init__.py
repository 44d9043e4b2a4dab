"""Vision nodes: pictures, stacks of frames, tiles, overlays."""
