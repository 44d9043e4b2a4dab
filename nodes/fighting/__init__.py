"""Fighting-game nodes: features, history and scripted players of one-on-one fights."""
