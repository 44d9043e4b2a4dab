"""Action nodes: from a chosen action to the buttons of a pad."""
