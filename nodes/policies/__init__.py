"""Policy nodes: from an agent's observations to the actions that it chooses."""
