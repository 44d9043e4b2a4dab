"""The actions of ScriptedStrategist in each case, by distance: the best, and the second best.

Made by `python -m games.source.duel.search.teaching`.
"""

Choice = tuple[str, str]

PATIENT: dict[str, tuple[Choice, ...]] = {
    "in flight": (
        ("down+Y", "forward+Y"),  # nearer than 44 pixels
        ("rising", "down+B"),  # nearer than 62 pixels
        ("forward+C", "C"),  # nearer than 90 pixels
        ("back+C", "forward+C"),  # nearer than 130 pixels
        ("back", "forward+X"),  # nearer than 190 pixels
        ("back", "down+forward"),  # further away
    ),
    "a projectile comes": (
        ("down+back", "back"),  # nearer than 44 pixels
        ("down+back", "forward"),  # nearer than 62 pixels
        ("down+back", "B"),  # nearer than 90 pixels
        ("down+back", "up+forward"),  # nearer than 130 pixels
        ("down+back", "up+forward"),  # nearer than 190 pixels
        ("down+back", "forward+C"),  # further away
    ),
    "blocking": (
        ("back+C", "back+X"),  # nearer than 44 pixels
        ("rising", "projectile"),  # nearer than 62 pixels
        ("up", "forward+Y"),  # nearer than 90 pixels
        ("projectile", "forward+X"),  # nearer than 130 pixels
        ("down+back", "down"),  # nearer than 190 pixels
        ("projectile", "forward+X"),  # further away
    ),
    "hit": (
        ("down+back+C", "forward+C"),  # nearer than 44 pixels
        ("down+back+A", "down+back"),  # nearer than 62 pixels
        ("down+back+A", "back"),  # nearer than 90 pixels
        ("back+Y", "back"),  # nearer than 130 pixels
        ("down+back+B", "back"),  # nearer than 190 pixels
        ("projectile", "back"),  # further away
    ),
    "stand": (
        ("rising", "down+Z"),  # nearer than 44 pixels
        ("forward+Y", "back+Y"),  # nearer than 62 pixels
        ("back+B", "forward+A"),  # nearer than 90 pixels
        ("forward+X", "forward+A"),  # nearer than 130 pixels
        ("back+B", "down+back+B"),  # nearer than 190 pixels
        ("forward+X", "projectile"),  # further away
    ),
    "crouch": (
        ("forward+C", "Y"),  # nearer than 44 pixels
        ("Y", "C"),  # nearer than 62 pixels
        ("back+C", "projectile"),  # nearer than 90 pixels
        ("up+forward", "projectile"),  # nearer than 130 pixels
        ("back+A", "up+forward"),  # nearer than 190 pixels
        ("projectile", "down+X"),  # further away
    ),
    "block": (
        ("down+back+C", "back+B"),  # nearer than 44 pixels
        ("back+B", "forward+C"),  # nearer than 62 pixels
        ("down+back+C", "down+back+B"),  # nearer than 90 pixels
        ("forward+A", "back+Z"),  # nearer than 130 pixels
        ("A", "up+forward"),  # nearer than 190 pixels
        ("projectile", "none"),  # further away
    ),
    "jump begins": (
        ("down+Z", "none"),  # nearer than 44 pixels
        ("back+C", "forward+C"),  # nearer than 62 pixels
        ("down+Z", "back"),  # nearer than 90 pixels
        ("jump kick", "forward+C"),  # nearer than 130 pixels
        ("projectile", "back+B"),  # nearer than 190 pixels
        ("up+forward", "projectile"),  # further away
    ),
    "comes down from high": (
        ("rising", "none"),  # nearer than 44 pixels
        ("X", "down+forward+C"),  # nearer than 62 pixels
        ("down+Z", "down+back+A"),  # nearer than 90 pixels
        ("forward+A", "forward+C"),  # nearer than 130 pixels
        ("down", "down+X"),  # nearer than 190 pixels
        ("projectile", "down+A"),  # further away
    ),
    "comes down": (
        ("back+Y", "back"),  # nearer than 44 pixels
        ("forward+B", "down+back+B"),  # nearer than 62 pixels
        ("forward+A", "back+B"),  # nearer than 90 pixels
        ("forward+A", "down"),  # nearer than 130 pixels
        ("back+Y", "down+Y"),  # nearer than 190 pixels
        ("X", "A"),  # further away
    ),
    "blow begins": (
        ("rising", "none"),  # nearer than 44 pixels
        ("down+back", "none"),  # nearer than 62 pixels
        ("down+back", "back"),  # nearer than 90 pixels
        ("projectile", "forward+C"),  # nearer than 130 pixels
        ("forward+X", "none"),  # nearer than 190 pixels
        ("up+forward", "down+back"),  # further away
    ),
    "blow": (
        ("down+back", "back+X"),  # nearer than 44 pixels
        ("down+back", "back+Z"),  # nearer than 62 pixels
        ("projectile", "forward+C"),  # nearer than 90 pixels
        ("forward+X", "back+X"),  # nearer than 130 pixels
        ("down+A", "down+forward+B"),  # nearer than 190 pixels
        ("back", "forward+B"),  # further away
    ),
    "blow is past": (
        ("back+Y", "forward+B"),  # nearer than 44 pixels
        ("back+B", "down+forward+C"),  # nearer than 62 pixels
        ("forward+C", "down+forward+C"),  # nearer than 90 pixels
        ("forward+X", "none"),  # nearer than 130 pixels
        ("B", "down+forward+B"),  # nearer than 190 pixels
        ("down+back", "back+B"),  # further away
    ),
    "special begins": (
        ("back", "down+forward"),  # nearer than 44 pixels
        ("down+back", "back"),  # nearer than 62 pixels
        ("down+back", "back"),  # nearer than 90 pixels
        ("up+forward", "none"),  # nearer than 130 pixels
        ("up+forward", "none"),  # nearer than 190 pixels
        ("projectile", "down+Y"),  # further away
    ),
    "special": (
        ("back+C", "down+back+A"),  # nearer than 44 pixels
        ("back+C", "none"),  # nearer than 62 pixels
        ("down+back+C", "C"),  # nearer than 90 pixels
        ("down+back", "down+Y"),  # nearer than 130 pixels
        ("up+forward", "none"),  # nearer than 190 pixels
        ("projectile", "up+forward"),  # further away
    ),
    "special is past": (
        ("Y", "back+X"),  # nearer than 44 pixels
        ("B", "down+forward+A"),  # nearer than 62 pixels
        ("projectile", "forward+X"),  # nearer than 90 pixels
        ("projectile", "Y"),  # nearer than 130 pixels
        ("back", "up+forward"),  # nearer than 190 pixels
        ("down+back", "none"),  # further away
    ),
    "was just hit": (
        ("down+C", "forward+Z"),  # nearer than 44 pixels
        ("down+back+B", "back+X"),  # nearer than 62 pixels
        ("down+forward+A", "C"),  # nearer than 90 pixels
        ("back+A", "forward+X"),  # nearer than 130 pixels
        ("up+forward", "none"),  # nearer than 190 pixels
        ("forward+A", "down+forward+A"),  # further away
    ),
    "was hit": (
        ("back+A", "down+X"),  # nearer than 44 pixels
        ("back+Y", "back+B"),  # nearer than 62 pixels
        ("back+C", "forward+C"),  # nearer than 90 pixels
        ("projectile", "X"),  # nearer than 130 pixels
        ("projectile", "none"),  # nearer than 190 pixels
        ("projectile", "down+back"),  # further away
    ),
}
