"""The actions of ScriptedStrategist in each case, by distance: the best, and the second best.

Made by `python -m games.source.duel.search.teaching`.
"""

Choice = tuple[str, str]

PATIENT: dict[str, tuple[Choice, ...]] = {
    "in flight": (
        ("forward+Y", "back+Z"),  # nearer than 44 pixels
        ("rising", "down+X"),  # nearer than 62 pixels
        ("forward+C", "down+back+C"),  # nearer than 90 pixels
        ("back+C", "forward+C"),  # nearer than 130 pixels
        ("down+back", "rising"),  # nearer than 190 pixels
        ("back", "up+back"),  # further away
    ),
    "a projectile comes": (
        ("down+back", "back"),  # nearer than 44 pixels
        ("down+back", "forward+X"),  # nearer than 62 pixels
        ("down+back", "down+back+C"),  # nearer than 90 pixels
        ("down+back", "up+forward"),  # nearer than 130 pixels
        ("up+forward", "down+forward+C"),  # nearer than 190 pixels
        ("down+back", "forward+A"),  # further away
    ),
    "blocking": (
        ("back+B", "down+A"),  # nearer than 44 pixels
        ("rising", "down+Y"),  # nearer than 62 pixels
        ("forward+X", "projectile"),  # nearer than 90 pixels
        ("back", "forward+A"),  # nearer than 130 pixels
        ("back+X", "B"),  # nearer than 190 pixels
        ("projectile", "down+C"),  # further away
    ),
    "hit": (
        ("down+back+C", "back+X"),  # nearer than 44 pixels
        ("down+back", "down+back+B"),  # nearer than 62 pixels
        ("down+back+A", "down+back+C"),  # nearer than 90 pixels
        ("back", "back+B"),  # nearer than 130 pixels
        ("back", "none"),  # nearer than 190 pixels
        ("back", "back+Y"),  # further away
    ),
    "stand": (
        ("rising", "B"),  # nearer than 44 pixels
        ("forward+Y", "down+back+B"),  # nearer than 62 pixels
        ("forward+B", "down+back+B"),  # nearer than 90 pixels
        ("back+X", "back+A"),  # nearer than 130 pixels
        ("back+B", "down+forward+A"),  # nearer than 190 pixels
        ("forward", "projectile"),  # further away
    ),
    "crouch": (
        ("rising", "forward+C"),  # nearer than 44 pixels
        ("forward+Y", "down+C"),  # nearer than 62 pixels
        ("projectile", "forward+B"),  # nearer than 90 pixels
        ("projectile", "down+A"),  # nearer than 130 pixels
        ("back+X", "up+forward"),  # nearer than 190 pixels
        ("down+back", "projectile"),  # further away
    ),
    "block": (
        ("down+back", "forward+X"),  # nearer than 44 pixels
        ("forward+C", "down+forward"),  # nearer than 62 pixels
        ("down+back", "down+back+C"),  # nearer than 90 pixels
        ("up+forward", "down+back+B"),  # nearer than 130 pixels
        ("up+forward", "X"),  # nearer than 190 pixels
        ("projectile", "none"),  # further away
    ),
    "jump begins": (
        ("down+Z", "down+A"),  # nearer than 44 pixels
        ("back+C", "none"),  # nearer than 62 pixels
        ("down+Z", "forward+Z"),  # nearer than 90 pixels
        ("jump kick", "back+B"),  # nearer than 130 pixels
        ("projectile", "back+A"),  # nearer than 190 pixels
        ("up+forward", "projectile"),  # further away
    ),
    "comes down from high": (
        ("rising", "none"),  # nearer than 44 pixels
        ("down+Z", "forward+C"),  # nearer than 62 pixels
        ("down+Z", "none"),  # nearer than 90 pixels
        ("C", "none"),  # nearer than 130 pixels
        ("forward+X", "back+C"),  # nearer than 190 pixels
        ("projectile", "back+X"),  # further away
    ),
    "comes down": (
        ("back+X", "B"),  # nearer than 44 pixels
        ("down+forward+A", "jump kick"),  # nearer than 62 pixels
        ("down+back", "back+Y"),  # nearer than 90 pixels
        ("back+Y", "Y"),  # nearer than 130 pixels
        ("forward+B", "down+back+A"),  # nearer than 190 pixels
        ("projectile", "Z"),  # further away
    ),
    "blow begins": (
        ("rising", "none"),  # nearer than 44 pixels
        ("down+back", "none"),  # nearer than 62 pixels
        ("down+back", "back+Z"),  # nearer than 90 pixels
        ("projectile", "back+A"),  # nearer than 130 pixels
        ("forward+X", "down+forward+A"),  # nearer than 190 pixels
        ("up+forward", "back+A"),  # further away
    ),
    "blow": (
        ("down+back", "none"),  # nearer than 44 pixels
        ("down+back", "none"),  # nearer than 62 pixels
        ("projectile", "up"),  # nearer than 90 pixels
        ("projectile", "forward+X"),  # nearer than 130 pixels
        ("down+A", "X"),  # nearer than 190 pixels
        ("down+back", "up+forward"),  # further away
    ),
    "blow is past": (
        ("Y", "down+C"),  # nearer than 44 pixels
        ("down+back+C", "forward+X"),  # nearer than 62 pixels
        ("back+C", "down+C"),  # nearer than 90 pixels
        ("projectile", "forward+X"),  # nearer than 130 pixels
        ("down+Y", "down+back+A"),  # nearer than 190 pixels
        ("forward", "none"),  # further away
    ),
    "special begins": (
        ("down+back", "back"),  # nearer than 44 pixels
        ("down+back", "back"),  # nearer than 62 pixels
        ("down+back", "back"),  # nearer than 90 pixels
        ("up+forward", "none"),  # nearer than 130 pixels
        ("up+forward", "none"),  # nearer than 190 pixels
        ("projectile", "B"),  # further away
    ),
    "special": (
        ("C", "down+A"),  # nearer than 44 pixels
        ("back+C", "C"),  # nearer than 62 pixels
        ("forward+C", "back+C"),  # nearer than 90 pixels
        ("down+back", "none"),  # nearer than 130 pixels
        ("projectile", "none"),  # nearer than 190 pixels
        ("projectile", "none"),  # further away
    ),
    "special is past": (
        ("forward+Y", "X"),  # nearer than 44 pixels
        ("down+forward+C", "back+B"),  # nearer than 62 pixels
        ("projectile", "back+X"),  # nearer than 90 pixels
        ("back", "up+forward"),  # nearer than 130 pixels
        ("back", "none"),  # nearer than 190 pixels
        ("down+back", "Y"),  # further away
    ),
    "was just hit": (
        ("forward+Y", "down+B"),  # nearer than 44 pixels
        ("back+C", "forward+C"),  # nearer than 62 pixels
        ("A", "C"),  # nearer than 90 pixels
        ("down+forward+C", "down+B"),  # nearer than 130 pixels
        ("forward", "down+C"),  # nearer than 190 pixels
        ("projectile", "forward"),  # further away
    ),
    "was hit": (
        ("back+Y", "X"),  # nearer than 44 pixels
        ("back+Y", "forward+Y"),  # nearer than 62 pixels
        ("back+C", "C"),  # nearer than 90 pixels
        ("projectile", "B"),  # nearer than 130 pixels
        ("projectile", "forward+A"),  # nearer than 190 pixels
        ("projectile", "down+A"),  # further away
    ),
}
