"""What ScriptedStrategist does in each case, by distance: the best action, and the second best.

Made by `python -m games.source.duel.search.teaching`.
"""

Choice = tuple[str, str]

PATIENT: dict[str, tuple[Choice, ...]] = {
    "in flight": (
        ("back+C", "back+Z"),  # nearer than 44 pixels
        ("down+back+B", "down+B"),  # nearer than 62 pixels
        ("back+C", "down+forward+A"),  # nearer than 90 pixels
        ("jump kick", "rising back"),  # nearer than 130 pixels
        ("down", "forward+Y"),  # nearer than 190 pixels
        ("down+back", "down"),  # further away
    ),
    "a projectile comes": (
        ("rising back", "jump kick"),  # nearer than 44 pixels
        ("rising back", "Y"),  # nearer than 62 pixels
        ("C", "forward+Z"),  # nearer than 90 pixels
        ("down+back", "none"),  # nearer than 130 pixels
        ("down+back", "up+forward"),  # nearer than 190 pixels
        ("down+back", "forward+Y"),  # further away
    ),
    "blocking": (
        ("back+Y", "forward+C"),  # nearer than 44 pixels
        ("back+Y", "forward+Y"),  # nearer than 62 pixels
        ("B", "down+forward+A"),  # nearer than 90 pixels
        ("down+forward+B", "forward+Y"),  # nearer than 130 pixels
        ("down+A", "forward+Y"),  # nearer than 190 pixels
        ("projectile", "forward+X"),  # further away
    ),
    "hit": (
        ("down+back", "back"),  # nearer than 44 pixels
        ("down+back", "back"),  # nearer than 62 pixels
        ("back+X", "down+back+A"),  # nearer than 90 pixels
        ("back+A", "forward+B"),  # nearer than 130 pixels
        ("down+forward+A", "B"),  # nearer than 190 pixels
        ("projectile", "down+back+C"),  # further away
    ),
    "stand": (
        ("forward+Z", "none"),  # nearer than 44 pixels
        ("rising", "none"),  # nearer than 62 pixels
        ("back+B", "back+C"),  # nearer than 90 pixels
        ("down+back+A", "down+forward+A"),  # nearer than 130 pixels
        ("forward+B", "down+back+A"),  # nearer than 190 pixels
        ("down", "Y"),  # further away
    ),
    "crouch": (
        ("forward+Z", "none"),  # nearer than 44 pixels
        ("Y", "forward+Z"),  # nearer than 62 pixels
        ("back+C", "B"),  # nearer than 90 pixels
        ("up+forward", "none"),  # nearer than 130 pixels
        ("up+forward", "none"),  # nearer than 190 pixels
        ("down+back", "projectile"),  # further away
    ),
    "block": (
        ("down+back", "back+A"),  # nearer than 44 pixels
        ("down+back+B", "Z"),  # nearer than 62 pixels
        ("back+A", "back+X"),  # nearer than 90 pixels
        ("back+B", "down+back+A"),  # nearer than 130 pixels
        ("forward+X", "down+forward"),  # nearer than 190 pixels
        ("back+B", "rising back"),  # further away
    ),
    "jump begins": (
        ("rising", "none"),  # nearer than 44 pixels
        ("rising back", "none"),  # nearer than 62 pixels
        ("rising back", "none"),  # nearer than 90 pixels
        ("rising", "none"),  # nearer than 130 pixels
        ("projectile", "back+Y"),  # nearer than 190 pixels
        ("projectile", "down+back"),  # further away
    ),
    "comes down from high": (
        ("rising", "none"),  # nearer than 44 pixels
        ("down+Z", "none"),  # nearer than 62 pixels
        ("down+Z", "none"),  # nearer than 90 pixels
        ("forward+C", "down+back"),  # nearer than 130 pixels
        ("X", "down+forward+A"),  # nearer than 190 pixels
        ("down+A", "forward"),  # further away
    ),
    "comes down": (
        ("forward+Z", "none"),  # nearer than 44 pixels
        ("back+Y", "X"),  # nearer than 62 pixels
        ("down+back+B", "down+B"),  # nearer than 90 pixels
        ("back+X", "down+Y"),  # nearer than 130 pixels
        ("forward+A", "forward+Y"),  # nearer than 190 pixels
        ("rising back", "projectile"),  # further away
    ),
    "blow begins": (
        ("rising", "none"),  # nearer than 44 pixels
        ("rising", "none"),  # nearer than 62 pixels
        ("down+back", "none"),  # nearer than 90 pixels
        ("projectile", "none"),  # nearer than 130 pixels
        ("forward", "none"),  # nearer than 190 pixels
        ("back", "down+B"),  # further away
    ),
    "blow": (
        ("back", "none"),  # nearer than 44 pixels
        ("rising", "down+forward+C"),  # nearer than 62 pixels
        ("projectile", "down+B"),  # nearer than 90 pixels
        ("projectile", "back+Z"),  # nearer than 130 pixels
        ("forward", "none"),  # nearer than 190 pixels
        ("down+back", "back+Y"),  # further away
    ),
    "blow is past": (
        ("forward+Z", "down+back"),  # nearer than 44 pixels
        ("down+Z", "down+A"),  # nearer than 62 pixels
        ("projectile", "down+back+A"),  # nearer than 90 pixels
        ("down+B", "down+Y"),  # nearer than 130 pixels
        ("forward+A", "down+forward"),  # nearer than 190 pixels
        ("projectile", "up"),  # further away
    ),
    "special begins": (
        ("down+back", "back"),  # nearer than 44 pixels
        ("down+back", "back"),  # nearer than 62 pixels
        ("down+back", "back"),  # nearer than 90 pixels
        ("up+forward", "none"),  # nearer than 130 pixels
        ("up+forward", "none"),  # nearer than 190 pixels
        ("projectile", "forward+Z"),  # further away
    ),
    "special": (
        ("forward+C", "none"),  # nearer than 44 pixels
        ("rising back", "C"),  # nearer than 62 pixels
        ("back+Y", "down+A"),  # nearer than 90 pixels
        ("back", "none"),  # nearer than 130 pixels
        ("up+forward", "none"),  # nearer than 190 pixels
        ("projectile", "none"),  # further away
    ),
    "special is past": (
        ("forward+Z", "back+B"),  # nearer than 44 pixels
        ("back+Y", "forward+X"),  # nearer than 62 pixels
        ("down+back", "forward+B"),  # nearer than 90 pixels
        ("up+forward", "forward+Y"),  # nearer than 130 pixels
        ("projectile back", "B"),  # nearer than 190 pixels
        ("back", "down+back"),  # further away
    ),
    "was just hit": (
        ("back+B", "A"),  # nearer than 44 pixels
        ("down+back+A", "down+back+B"),  # nearer than 62 pixels
        ("back+X", "forward+Z"),  # nearer than 90 pixels
        ("forward+X", "down+back+B"),  # nearer than 130 pixels
        ("forward", "A"),  # nearer than 190 pixels
        ("down+forward", "down+Y"),  # further away
    ),
    "was hit": (
        ("back", "down+back+A"),  # nearer than 44 pixels
        ("back+A", "down+back"),  # nearer than 62 pixels
        ("projectile", "back+Y"),  # nearer than 90 pixels
        ("projectile", "forward+X"),  # nearer than 130 pixels
        ("forward", "up+forward"),  # nearer than 190 pixels
        ("projectile", "back+Z"),  # further away
    ),
}
