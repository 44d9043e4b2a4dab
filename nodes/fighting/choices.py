"""The actions of ScriptedStrategist in each case, by distance: the best, and the second best.

Made by `python -m games.source.duel.search.teaching`.
"""

Choice = tuple[str, str]

PATIENT: dict[str, tuple[Choice, ...]] = {
    "in flight": (
        ("back+Y", "A"),  # nearer than 44 pixels
        ("rising", "jump kick"),  # nearer than 62 pixels
        ("back+C", "down+back+C"),  # nearer than 90 pixels
        ("back+C", "B"),  # nearer than 130 pixels
        ("down+back", "forward+Y"),  # nearer than 190 pixels
        ("down+back", "up+forward"),  # further away
    ),
    "a projectile comes": (
        ("back", "back+Y"),  # nearer than 44 pixels
        ("down+Z", "forward+Z"),  # nearer than 62 pixels
        ("down+back", "forward+Z"),  # nearer than 90 pixels
        ("down+back", "up+forward"),  # nearer than 130 pixels
        ("down+back", "up+forward"),  # nearer than 190 pixels
        ("down+back", "forward+A"),  # further away
    ),
    "blocking": (
        ("rising", "down+back+C"),  # nearer than 44 pixels
        ("rising", "down+A"),  # nearer than 62 pixels
        ("jump kick", "B"),  # nearer than 90 pixels
        ("back+X", "back+A"),  # nearer than 130 pixels
        ("down+back", "up+forward"),  # nearer than 190 pixels
        ("projectile", "none"),  # further away
    ),
    "hit": (
        ("down+back+C", "back+A"),  # nearer than 44 pixels
        ("down+back", "down+back+C"),  # nearer than 62 pixels
        ("down+back+A", "down+back+B"),  # nearer than 90 pixels
        ("back+X", "back+A"),  # nearer than 130 pixels
        ("down+back+A", "back"),  # nearer than 190 pixels
        ("projectile", "A"),  # further away
    ),
    "stand": (
        ("rising", "forward+C"),  # nearer than 44 pixels
        ("jump kick", "Y"),  # nearer than 62 pixels
        ("back+B", "down+B"),  # nearer than 90 pixels
        ("down+back+A", "down+back+B"),  # nearer than 130 pixels
        ("forward+X", "up+forward"),  # nearer than 190 pixels
        ("forward", "projectile"),  # further away
    ),
    "crouch": (
        ("forward+C", "forward+Z"),  # nearer than 44 pixels
        ("down+back+B", "down+forward+C"),  # nearer than 62 pixels
        ("projectile", "Y"),  # nearer than 90 pixels
        ("projectile", "up+forward"),  # nearer than 130 pixels
        ("up+forward", "forward+Y"),  # nearer than 190 pixels
        ("projectile", "A"),  # further away
    ),
    "block": (
        ("down+back+A", "back+C"),  # nearer than 44 pixels
        ("down+back", "A"),  # nearer than 62 pixels
        ("down+back+B", "down+back+C"),  # nearer than 90 pixels
        ("forward", "down+forward"),  # nearer than 130 pixels
        ("up+forward", "forward+B"),  # nearer than 190 pixels
        ("up+forward", "down+forward+A"),  # further away
    ),
    "jump begins": (
        ("rising", "projectile"),  # nearer than 44 pixels
        ("back+C", "C"),  # nearer than 62 pixels
        ("back+C", "down+back+B"),  # nearer than 90 pixels
        ("projectile", "jump kick"),  # nearer than 130 pixels
        ("projectile", "forward"),  # nearer than 190 pixels
        ("forward", "back+B"),  # further away
    ),
    "comes down from high": (
        ("down+Z", "back+Y"),  # nearer than 44 pixels
        ("down+Z", "none"),  # nearer than 62 pixels
        ("down+Z", "back+B"),  # nearer than 90 pixels
        ("forward+B", "down+forward+B"),  # nearer than 130 pixels
        ("forward+A", "down+Y"),  # nearer than 190 pixels
        ("projectile", "down+B"),  # further away
    ),
    "comes down": (
        ("B", "back+B"),  # nearer than 44 pixels
        ("B", "back+A"),  # nearer than 62 pixels
        ("forward+C", "down+forward+C"),  # nearer than 90 pixels
        ("forward+A", "forward+Y"),  # nearer than 130 pixels
        ("down+back+B", "down+back"),  # nearer than 190 pixels
        ("down+X", "projectile"),  # further away
    ),
    "blow begins": (
        ("rising", "down+back"),  # nearer than 44 pixels
        ("down+back", "none"),  # nearer than 62 pixels
        ("down+back", "down"),  # nearer than 90 pixels
        ("projectile", "up+forward"),  # nearer than 130 pixels
        ("forward+X", "back+Z"),  # nearer than 190 pixels
        ("down+back", "down+Y"),  # further away
    ),
    "blow": (
        ("down+back", "none"),  # nearer than 44 pixels
        ("down+back", "none"),  # nearer than 62 pixels
        ("projectile", "Y"),  # nearer than 90 pixels
        ("projectile", "forward"),  # nearer than 130 pixels
        ("down+back", "down"),  # nearer than 190 pixels
        ("down+back", "back+B"),  # further away
    ),
    "blow is past": (
        ("back+Y", "none"),  # nearer than 44 pixels
        ("back+B", "down+Y"),  # nearer than 62 pixels
        ("back+C", "down+back+C"),  # nearer than 90 pixels
        ("down+back+B", "projectile"),  # nearer than 130 pixels
        ("forward+A", "back+Z"),  # nearer than 190 pixels
        ("down+back", "forward"),  # further away
    ),
    "special begins": (
        ("down+back", "back"),  # nearer than 44 pixels
        ("down+back", "back"),  # nearer than 62 pixels
        ("down+back", "back"),  # nearer than 90 pixels
        ("up+forward", "none"),  # nearer than 130 pixels
        ("up+forward", "none"),  # nearer than 190 pixels
        ("projectile", "back+A"),  # further away
    ),
    "special": (
        ("C", "Z"),  # nearer than 44 pixels
        ("back+Z", "back+C"),  # nearer than 62 pixels
        ("C", "up+back"),  # nearer than 90 pixels
        ("down+back", "none"),  # nearer than 130 pixels
        ("up+forward", "jump kick"),  # nearer than 190 pixels
        ("projectile", "none"),  # further away
    ),
    "special is past": (
        ("back+Y", "down+B"),  # nearer than 44 pixels
        ("down+forward+C", "down+back+C"),  # nearer than 62 pixels
        ("projectile", "forward+Y"),  # nearer than 90 pixels
        ("projectile", "down+back+B"),  # nearer than 130 pixels
        ("back", "forward"),  # nearer than 190 pixels
        ("down+back", "down+back+A"),  # further away
    ),
    "was just hit": (
        ("C", "down+back+C"),  # nearer than 44 pixels
        ("back+A", "down+Y"),  # nearer than 62 pixels
        ("back", "Y"),  # nearer than 90 pixels
        ("C", "none"),  # nearer than 130 pixels
        ("up+forward", "down+Y"),  # nearer than 190 pixels
        ("forward+A", "up+forward"),  # further away
    ),
    "was hit": (
        ("back", "down+forward+A"),  # nearer than 44 pixels
        ("back+B", "back+Y"),  # nearer than 62 pixels
        ("back+C", "X"),  # nearer than 90 pixels
        ("projectile", "forward+Y"),  # nearer than 130 pixels
        ("projectile", "forward+X"),  # nearer than 190 pixels
        ("projectile", "B"),  # further away
    ),
}
