"""Control nodes: hold, compare, count, combine, choose. Nothing here knows a game."""
