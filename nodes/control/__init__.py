"""Control nodes: hold, compare, count, combine, choose. They are independent of any game."""
