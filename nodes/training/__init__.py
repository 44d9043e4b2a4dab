"""Training nodes: they collect what games show, or learn from it and save brains."""
