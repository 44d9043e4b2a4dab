"""The actions of ScriptedStrategist in each case, by distance: the best, and the second best.

Made by `python -m games.source.duel.search.teaching`.
"""

Choice = tuple[str, str]

PATIENT: dict[str, tuple[Choice, ...]] = {
    "in flight": (
        ("forward+Y", "down+Y"),  # nearer than 44 pixels
        ("C", "back+B"),  # nearer than 62 pixels
        ("forward+C", "down+back+C"),  # nearer than 90 pixels
        ("back", "back+Y"),  # nearer than 130 pixels
        ("back", "down+forward+C"),  # nearer than 190 pixels
        ("back", "forward"),  # further away
    ),
    "a projectile comes": (
        ("down+back", "back"),  # nearer than 44 pixels
        ("down+back", "X"),  # nearer than 62 pixels
        ("down+back", "down+X"),  # nearer than 90 pixels
        ("down+back", "back"),  # nearer than 130 pixels
        ("down+back", "up+forward"),  # nearer than 190 pixels
        ("down+back", "forward+C"),  # further away
    ),
    "blocking": (
        ("forward+C", "B"),  # nearer than 44 pixels
        ("forward+Z", "rising"),  # nearer than 62 pixels
        ("forward+B", "forward+Z"),  # nearer than 90 pixels
        ("forward+B", "up+forward"),  # nearer than 130 pixels
        ("forward+A", "forward+X"),  # nearer than 190 pixels
        ("projectile", "forward+X"),  # further away
    ),
    "hit": (
        ("down+back", "back"),  # nearer than 44 pixels
        ("down+back+C", "down+back+B"),  # nearer than 62 pixels
        ("down+back+A", "forward+B"),  # nearer than 90 pixels
        ("forward+X", "down+back+B"),  # nearer than 130 pixels
        ("down+X", "down+A"),  # nearer than 190 pixels
        ("projectile", "down+forward+A"),  # further away
    ),
    "stand": (
        ("forward+Z", "none"),  # nearer than 44 pixels
        ("back+X", "forward+Y"),  # nearer than 62 pixels
        ("projectile", "B"),  # nearer than 90 pixels
        ("forward+B", "down+back+A"),  # nearer than 130 pixels
        ("forward+X", "forward"),  # nearer than 190 pixels
        ("down+back", "down"),  # further away
    ),
    "crouch": (
        ("forward+C", "none"),  # nearer than 44 pixels
        ("B", "forward+B"),  # nearer than 62 pixels
        ("projectile", "back+C"),  # nearer than 90 pixels
        ("up+forward", "back+X"),  # nearer than 130 pixels
        ("up+forward", "forward+X"),  # nearer than 190 pixels
        ("back", "forward+B"),  # further away
    ),
    "block": (
        ("down+back+A", "forward+Y"),  # nearer than 44 pixels
        ("back+X", "down+forward"),  # nearer than 62 pixels
        ("forward+Z", "down+back"),  # nearer than 90 pixels
        ("forward+A", "X"),  # nearer than 130 pixels
        ("forward+X", "down+B"),  # nearer than 190 pixels
        ("down+B", "down+back+B"),  # further away
    ),
    "jump begins": (
        ("down+Z", "none"),  # nearer than 44 pixels
        ("down+Z", "none"),  # nearer than 62 pixels
        ("down+Z", "none"),  # nearer than 90 pixels
        ("rising", "none"),  # nearer than 130 pixels
        ("projectile", "back+X"),  # nearer than 190 pixels
        ("projectile", "none"),  # further away
    ),
    "comes down from high": (
        ("rising", "none"),  # nearer than 44 pixels
        ("down+Z", "none"),  # nearer than 62 pixels
        ("rising", "none"),  # nearer than 90 pixels
        ("forward+B", "forward+Z"),  # nearer than 130 pixels
        ("forward+Y", "down+forward"),  # nearer than 190 pixels
        ("B", "back"),  # further away
    ),
    "comes down": (
        ("forward+C", "forward+X"),  # nearer than 44 pixels
        ("down+C", "down+back+A"),  # nearer than 62 pixels
        ("projectile", "back+X"),  # nearer than 90 pixels
        ("A", "down+Y"),  # nearer than 130 pixels
        ("down+forward+A", "back+Y"),  # nearer than 190 pixels
        ("down+back", "forward+B"),  # further away
    ),
    "blow begins": (
        ("rising", "none"),  # nearer than 44 pixels
        ("rising", "none"),  # nearer than 62 pixels
        ("down+back", "back+C"),  # nearer than 90 pixels
        ("projectile", "back+X"),  # nearer than 130 pixels
        ("forward+Y", "forward+B"),  # nearer than 190 pixels
        ("down+back", "down+forward+B"),  # further away
    ),
    "blow": (
        ("back", "jump kick"),  # nearer than 44 pixels
        ("down+back", "none"),  # nearer than 62 pixels
        ("projectile", "forward+X"),  # nearer than 90 pixels
        ("projectile", "down+forward+B"),  # nearer than 130 pixels
        ("forward+A", "down+C"),  # nearer than 190 pixels
        ("back", "none"),  # further away
    ),
    "blow is past": (
        ("forward+C", "none"),  # nearer than 44 pixels
        ("forward+B", "B"),  # nearer than 62 pixels
        ("projectile", "A"),  # nearer than 90 pixels
        ("down+forward+B", "A"),  # nearer than 130 pixels
        ("forward+A", "back+B"),  # nearer than 190 pixels
        ("projectile", "down+Y"),  # further away
    ),
    "special begins": (
        ("down+back", "back"),  # nearer than 44 pixels
        ("down+back", "back"),  # nearer than 62 pixels
        ("down+back", "back"),  # nearer than 90 pixels
        ("up+forward", "none"),  # nearer than 130 pixels
        ("up+forward", "none"),  # nearer than 190 pixels
        ("projectile", "none"),  # further away
    ),
    "special": (
        ("forward+C", "none"),  # nearer than 44 pixels
        ("forward+C", "down+B"),  # nearer than 62 pixels
        ("back+C", "forward+Z"),  # nearer than 90 pixels
        ("down+back", "none"),  # nearer than 130 pixels
        ("projectile", "none"),  # nearer than 190 pixels
        ("projectile", "none"),  # further away
    ),
    "special is past": (
        ("forward+C", "none"),  # nearer than 44 pixels
        ("Y", "down+forward+A"),  # nearer than 62 pixels
        ("projectile", "forward+C"),  # nearer than 90 pixels
        ("down+back+A", "back+Y"),  # nearer than 130 pixels
        ("back", "up"),  # nearer than 190 pixels
        ("down+back", "none"),  # further away
    ),
    "was just hit": (
        ("down+back+C", "down+Z"),  # nearer than 44 pixels
        ("back+C", "back+Y"),  # nearer than 62 pixels
        ("down+forward+A", "Z"),  # nearer than 90 pixels
        ("forward+A", "forward+C"),  # nearer than 130 pixels
        ("forward", "down+C"),  # nearer than 190 pixels
        ("back+A", "X"),  # further away
    ),
    "was hit": (
        ("back", "C"),  # nearer than 44 pixels
        ("back+Y", "back+B"),  # nearer than 62 pixels
        ("back+A", "back+Z"),  # nearer than 90 pixels
        ("projectile", "down+forward+A"),  # nearer than 130 pixels
        ("up+forward", "none"),  # nearer than 190 pixels
        ("down+forward", "forward"),  # further away
    ),
}
