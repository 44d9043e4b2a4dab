"""The actions of ScriptedStrategist in each case, by distance: the best, and the second best.

Made by `python -m games.source.duel.search.teaching`.
"""

Choice = tuple[str, str]

PATIENT: dict[str, tuple[Choice, ...]] = {
    "in flight": (
        ("back+Y", "down+Z"),  # nearer than 44 pixels
        ("rising", "down+C"),  # nearer than 62 pixels
        ("down+back+C", "back+X"),  # nearer than 90 pixels
        ("down+back+C", "forward+C"),  # nearer than 130 pixels
        ("back", "A"),  # nearer than 190 pixels
        ("down+back", "down+back+A"),  # further away
    ),
    "a projectile comes": (
        ("back", "back+B"),  # nearer than 44 pixels
        ("down+back", "forward+C"),  # nearer than 62 pixels
        ("down+back", "A"),  # nearer than 90 pixels
        ("down+back", "up+forward"),  # nearer than 130 pixels
        ("down+back", "up+forward"),  # nearer than 190 pixels
        ("down+back", "C"),  # further away
    ),
    "blocking": (
        ("rising", "down+back+A"),  # nearer than 44 pixels
        ("rising", "down+forward+A"),  # nearer than 62 pixels
        ("forward+A", "C"),  # nearer than 90 pixels
        ("projectile", "back+C"),  # nearer than 130 pixels
        ("down+back", "down+forward+A"),  # nearer than 190 pixels
        ("projectile", "C"),  # further away
    ),
    "hit": (
        ("down+back+C", "back+X"),  # nearer than 44 pixels
        ("down+back", "down+back+B"),  # nearer than 62 pixels
        ("down+back+A", "down+back+C"),  # nearer than 90 pixels
        ("back+X", "back+Y"),  # nearer than 130 pixels
        ("down+back+B", "down+back+A"),  # nearer than 190 pixels
        ("projectile", "none"),  # further away
    ),
    "stand": (
        ("rising", "B"),  # nearer than 44 pixels
        ("forward+Y", "Y"),  # nearer than 62 pixels
        ("forward+A", "back+B"),  # nearer than 90 pixels
        ("forward+A", "forward+X"),  # nearer than 130 pixels
        ("forward+X", "back+A"),  # nearer than 190 pixels
        ("down+back", "projectile"),  # further away
    ),
    "crouch": (
        ("forward+C", "down+back+A"),  # nearer than 44 pixels
        ("down+C", "down+back+B"),  # nearer than 62 pixels
        ("back+C", "C"),  # nearer than 90 pixels
        ("projectile", "up+forward"),  # nearer than 130 pixels
        ("up+forward", "back+Y"),  # nearer than 190 pixels
        ("projectile", "back"),  # further away
    ),
    "block": (
        ("back+X", "forward+Y"),  # nearer than 44 pixels
        ("back+Z", "back+A"),  # nearer than 62 pixels
        ("down+back+C", "forward+C"),  # nearer than 90 pixels
        ("forward+B", "forward"),  # nearer than 130 pixels
        ("forward", "up"),  # nearer than 190 pixels
        ("up+forward", "A"),  # further away
    ),
    "jump begins": (
        ("rising", "down+back"),  # nearer than 44 pixels
        ("back+C", "forward+X"),  # nearer than 62 pixels
        ("jump kick", "back+C"),  # nearer than 90 pixels
        ("jump kick", "back+A"),  # nearer than 130 pixels
        ("projectile", "forward"),  # nearer than 190 pixels
        ("up+forward", "down+back"),  # further away
    ),
    "comes down from high": (
        ("down+Z", "none"),  # nearer than 44 pixels
        ("rising", "none"),  # nearer than 62 pixels
        ("forward+B", "back+Z"),  # nearer than 90 pixels
        ("down+forward+B", "jump kick"),  # nearer than 130 pixels
        ("down+forward+B", "A"),  # nearer than 190 pixels
        ("projectile", "forward"),  # further away
    ),
    "comes down": (
        ("down+forward+B", "none"),  # nearer than 44 pixels
        ("down+back+C", "Y"),  # nearer than 62 pixels
        ("forward+A", "forward+B"),  # nearer than 90 pixels
        ("forward+Y", "jump kick"),  # nearer than 130 pixels
        ("forward", "down+A"),  # nearer than 190 pixels
        ("forward+Y", "down+forward+B"),  # further away
    ),
    "blow begins": (
        ("rising", "down+forward+B"),  # nearer than 44 pixels
        ("down+back", "back+X"),  # nearer than 62 pixels
        ("down+back", "back+Z"),  # nearer than 90 pixels
        ("projectile", "B"),  # nearer than 130 pixels
        ("forward+X", "forward"),  # nearer than 190 pixels
        ("down+back", "back+A"),  # further away
    ),
    "blow": (
        ("down+back", "back+Y"),  # nearer than 44 pixels
        ("down+back", "none"),  # nearer than 62 pixels
        ("projectile", "forward+Y"),  # nearer than 90 pixels
        ("projectile", "forward+X"),  # nearer than 130 pixels
        ("A", "forward+A"),  # nearer than 190 pixels
        ("down+back", "forward+X"),  # further away
    ),
    "blow is past": (
        ("forward+Y", "A"),  # nearer than 44 pixels
        ("back+B", "C"),  # nearer than 62 pixels
        ("back+C", "projectile"),  # nearer than 90 pixels
        ("forward+A", "down+B"),  # nearer than 130 pixels
        ("down+back+A", "forward+A"),  # nearer than 190 pixels
        ("down+back", "back+Z"),  # further away
    ),
    "special begins": (
        ("down+back", "back"),  # nearer than 44 pixels
        ("down+back", "back"),  # nearer than 62 pixels
        ("down+back", "back"),  # nearer than 90 pixels
        ("up+forward", "none"),  # nearer than 130 pixels
        ("up+forward", "none"),  # nearer than 190 pixels
        ("projectile", "C"),  # further away
    ),
    "special": (
        ("C", "down+B"),  # nearer than 44 pixels
        ("back+C", "none"),  # nearer than 62 pixels
        ("forward+B", "back+Y"),  # nearer than 90 pixels
        ("down+back", "none"),  # nearer than 130 pixels
        ("up+forward", "back+C"),  # nearer than 190 pixels
        ("projectile", "forward+C"),  # further away
    ),
    "special is past": (
        ("forward+Y", "down+Z"),  # nearer than 44 pixels
        ("down+forward+C", "down+forward+B"),  # nearer than 62 pixels
        ("projectile", "forward+A"),  # nearer than 90 pixels
        ("projectile", "forward+X"),  # nearer than 130 pixels
        ("back", "forward+Y"),  # nearer than 190 pixels
        ("down+back", "none"),  # further away
    ),
    "was just hit": (
        ("back+Y", "Z"),  # nearer than 44 pixels
        ("down+back+C", "back+Z"),  # nearer than 62 pixels
        ("down+Y", "back+Z"),  # nearer than 90 pixels
        ("back+A", "back+C"),  # nearer than 130 pixels
        ("up+forward", "down+X"),  # nearer than 190 pixels
        ("projectile", "forward"),  # further away
    ),
    "was hit": (
        ("back", "back+X"),  # nearer than 44 pixels
        ("back+Y", "down+forward+A"),  # nearer than 62 pixels
        ("back+B", "forward+X"),  # nearer than 90 pixels
        ("projectile", "X"),  # nearer than 130 pixels
        ("projectile", "down+Y"),  # nearer than 190 pixels
        ("projectile", "down+back"),  # further away
    ),
}
