"""The actions of ScriptedStrategist in each case, by distance: the best, and the second best.

Made by `python -m games.source.duel.search.teaching`.
"""

Choice = tuple[str, str]

PATIENT: dict[str, tuple[Choice, ...]] = {
    "in flight": (
        ("back+Y", "back+B"),  # nearer than 44 pixels
        ("down+forward+C", "Z"),  # nearer than 62 pixels
        ("back+C", "C"),  # nearer than 90 pixels
        ("back+C", "down+back+C"),  # nearer than 130 pixels
        ("down+back", "down+back+B"),  # nearer than 190 pixels
        ("back", "down"),  # further away
    ),
    "a projectile comes": (
        ("down+back", "X"),  # nearer than 44 pixels
        ("C", "Z"),  # nearer than 62 pixels
        ("down+back", "projectile"),  # nearer than 90 pixels
        ("down+back", "up+forward"),  # nearer than 130 pixels
        ("up+forward", "down+back"),  # nearer than 190 pixels
        ("down+back", "C"),  # further away
    ),
    "blocking": (
        ("back+Z", "Y"),  # nearer than 44 pixels
        ("jump kick", "forward+Y"),  # nearer than 62 pixels
        ("forward+B", "jump kick"),  # nearer than 90 pixels
        ("back+A", "forward+X"),  # nearer than 130 pixels
        ("back+X", "forward+Y"),  # nearer than 190 pixels
        ("projectile", "forward"),  # further away
    ),
    "hit": (
        ("down+back+C", "forward+C"),  # nearer than 44 pixels
        ("down+back", "down+back+A"),  # nearer than 62 pixels
        ("down+back+B", "down+back+A"),  # nearer than 90 pixels
        ("back", "back+B"),  # nearer than 130 pixels
        ("back", "forward"),  # nearer than 190 pixels
        ("back", "down+back+A"),  # further away
    ),
    "stand": (
        ("rising", "back"),  # nearer than 44 pixels
        ("back+Y", "forward+Y"),  # nearer than 62 pixels
        ("projectile", "back+B"),  # nearer than 90 pixels
        ("back+X", "back+A"),  # nearer than 130 pixels
        ("back+Y", "back+B"),  # nearer than 190 pixels
        ("forward", "down+back+A"),  # further away
    ),
    "crouch": (
        ("forward+Z", "down+forward+A"),  # nearer than 44 pixels
        ("forward+Y", "B"),  # nearer than 62 pixels
        ("projectile", "back+B"),  # nearer than 90 pixels
        ("up+forward", "down+back+A"),  # nearer than 130 pixels
        ("back+A", "back+X"),  # nearer than 190 pixels
        ("projectile", "back"),  # further away
    ),
    "block": (
        ("down+back+C", "down+forward"),  # nearer than 44 pixels
        ("down+back+C", "Y"),  # nearer than 62 pixels
        ("forward+Z", "forward+A"),  # nearer than 90 pixels
        ("forward+Y", "forward+A"),  # nearer than 130 pixels
        ("forward+Y", "up+forward"),  # nearer than 190 pixels
        ("forward+X", "up+forward"),  # further away
    ),
    "jump begins": (
        ("forward+C", "forward+Z"),  # nearer than 44 pixels
        ("rising", "back+C"),  # nearer than 62 pixels
        ("jump kick", "down+Z"),  # nearer than 90 pixels
        ("jump kick", "rising"),  # nearer than 130 pixels
        ("projectile", "up+forward"),  # nearer than 190 pixels
        ("up+forward", "A"),  # further away
    ),
    "comes down from high": (
        ("rising", "none"),  # nearer than 44 pixels
        ("rising", "forward+X"),  # nearer than 62 pixels
        ("forward+Y", "none"),  # nearer than 90 pixels
        ("C", "none"),  # nearer than 130 pixels
        ("A", "X"),  # nearer than 190 pixels
        ("projectile", "down+back+A"),  # further away
    ),
    "comes down": (
        ("X", "down+B"),  # nearer than 44 pixels
        ("back+B", "back+Z"),  # nearer than 62 pixels
        ("back+B", "none"),  # nearer than 90 pixels
        ("forward+B", "B"),  # nearer than 130 pixels
        ("down+back+B", "forward+C"),  # nearer than 190 pixels
        ("down+back+A", "down+Y"),  # further away
    ),
    "blow begins": (
        ("rising", "forward+B"),  # nearer than 44 pixels
        ("down+back", "none"),  # nearer than 62 pixels
        ("back", "forward+C"),  # nearer than 90 pixels
        ("projectile", "back+C"),  # nearer than 130 pixels
        ("up+forward", "down+A"),  # nearer than 190 pixels
        ("projectile", "up+forward"),  # further away
    ),
    "blow": (
        ("down+back", "Z"),  # nearer than 44 pixels
        ("down+back", "none"),  # nearer than 62 pixels
        ("projectile", "down+back+B"),  # nearer than 90 pixels
        ("projectile", "down+forward+B"),  # nearer than 130 pixels
        ("back+B", "B"),  # nearer than 190 pixels
        ("up+forward", "projectile"),  # further away
    ),
    "blow is past": (
        ("rising", "down+A"),  # nearer than 44 pixels
        ("back+B", "forward+B"),  # nearer than 62 pixels
        ("back+B", "up"),  # nearer than 90 pixels
        ("back+X", "back"),  # nearer than 130 pixels
        ("back+Y", "down+back+B"),  # nearer than 190 pixels
        ("forward+X", "down+Z"),  # further away
    ),
    "special begins": (
        ("down+back", "back"),  # nearer than 44 pixels
        ("down+back", "back"),  # nearer than 62 pixels
        ("down+back", "back"),  # nearer than 90 pixels
        ("up+forward", "none"),  # nearer than 130 pixels
        ("up+forward", "projectile"),  # nearer than 190 pixels
        ("projectile", "down+back+A"),  # further away
    ),
    "special": (
        ("back+C", "none"),  # nearer than 44 pixels
        ("back+Z", "down+A"),  # nearer than 62 pixels
        ("back+C", "forward+Y"),  # nearer than 90 pixels
        ("down+back", "forward+X"),  # nearer than 130 pixels
        ("projectile", "back+X"),  # nearer than 190 pixels
        ("projectile", "up"),  # further away
    ),
    "special is past": (
        ("forward+Y", "Y"),  # nearer than 44 pixels
        ("forward+Y", "down+forward+B"),  # nearer than 62 pixels
        ("projectile", "down+back+C"),  # nearer than 90 pixels
        ("back", "forward+B"),  # nearer than 130 pixels
        ("back", "B"),  # nearer than 190 pixels
        ("down+back", "none"),  # further away
    ),
    "was just hit": (
        ("Y", "C"),  # nearer than 44 pixels
        ("back+B", "forward+X"),  # nearer than 62 pixels
        ("down+C", "down+back+C"),  # nearer than 90 pixels
        ("back+A", "back+X"),  # nearer than 130 pixels
        ("up+forward", "none"),  # nearer than 190 pixels
        ("forward", "projectile"),  # further away
    ),
    "was hit": (
        ("back+A", "forward+Y"),  # nearer than 44 pixels
        ("back+B", "back+C"),  # nearer than 62 pixels
        ("back+B", "projectile"),  # nearer than 90 pixels
        ("projectile", "forward+X"),  # nearer than 130 pixels
        ("down+Y", "down+A"),  # nearer than 190 pixels
        ("projectile", "forward"),  # further away
    ),
}
