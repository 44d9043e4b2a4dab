"""Policy nodes: from what an agent sees to what it wants to do."""
