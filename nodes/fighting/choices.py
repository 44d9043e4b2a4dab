"""What ScriptedStrategist does in each case, by distance: the best action, and the second best.

Made by `python -m games.source.duel.search.teaching`.
"""

Choice = tuple[str, str]

PATIENT: dict[str, tuple[Choice, ...]] = {
    "in flight": (
        ("forward+Y", "Z"),  # nearer than 44 pixels
        ("C", "B"),  # nearer than 62 pixels
        ("down+C", "down+Z"),  # nearer than 90 pixels
        ("down+back", "down+back+A"),  # nearer than 130 pixels
        ("back", "up+forward"),  # nearer than 190 pixels
        ("back", "down+A"),  # further away
    ),
    "a projectile comes": (
        ("down+back", "down+back+B"),  # nearer than 44 pixels
        ("down+back", "down+forward+A"),  # nearer than 62 pixels
        ("down+back", "none"),  # nearer than 90 pixels
        ("down+back", "back+X"),  # nearer than 130 pixels
        ("down+back", "up+forward"),  # nearer than 190 pixels
        ("down+back", "forward+C"),  # further away
    ),
    "blocking": (
        ("forward+C", "none"),  # nearer than 44 pixels
        ("jump kick", "down+forward+C"),  # nearer than 62 pixels
        ("projectile", "forward+C"),  # nearer than 90 pixels
        ("forward", "forward+X"),  # nearer than 130 pixels
        ("projectile", "down+back+B"),  # nearer than 190 pixels
        ("projectile", "down+B"),  # further away
    ),
    "hit": (
        ("down+back", "B"),  # nearer than 44 pixels
        ("down+back", "down+back+C"),  # nearer than 62 pixels
        ("back", "back+Z"),  # nearer than 90 pixels
        ("forward", "down+Y"),  # nearer than 130 pixels
        ("down+back+B", "down+back+A"),  # nearer than 190 pixels
        ("projectile", "back+Y"),  # further away
    ),
    "stand": (
        ("forward+C", "none"),  # nearer than 44 pixels
        ("back+B", "forward+X"),  # nearer than 62 pixels
        ("projectile", "back+B"),  # nearer than 90 pixels
        ("forward+X", "forward+B"),  # nearer than 130 pixels
        ("forward", "back+A"),  # nearer than 190 pixels
        ("down+back", "forward+A"),  # further away
    ),
    "crouch": (
        ("forward+Z", "none"),  # nearer than 44 pixels
        ("back+Y", "back+B"),  # nearer than 62 pixels
        ("down+back", "projectile"),  # nearer than 90 pixels
        ("up+forward", "back"),  # nearer than 130 pixels
        ("down+forward+A", "up+forward"),  # nearer than 190 pixels
        ("back", "projectile"),  # further away
    ),
    "block": (
        ("down+back", "back+A"),  # nearer than 44 pixels
        ("back+X", "back"),  # nearer than 62 pixels
        ("forward+C", "forward+A"),  # nearer than 90 pixels
        ("forward", "forward+X"),  # nearer than 130 pixels
        ("forward", "down+forward+B"),  # nearer than 190 pixels
        ("down", "A"),  # further away
    ),
    "jump begins": (
        ("rising", "none"),  # nearer than 44 pixels
        ("down+Z", "none"),  # nearer than 62 pixels
        ("down+Z", "none"),  # nearer than 90 pixels
        ("jump kick", "none"),  # nearer than 130 pixels
        ("projectile", "down"),  # nearer than 190 pixels
        ("projectile", "forward+Z"),  # further away
    ),
    "comes down from high": (
        ("down+Z", "none"),  # nearer than 44 pixels
        ("down+Z", "none"),  # nearer than 62 pixels
        ("down+Z", "none"),  # nearer than 90 pixels
        ("back+C", "B"),  # nearer than 130 pixels
        ("back+Y", "back"),  # nearer than 190 pixels
        ("X", "back+Y"),  # further away
    ),
    "comes down": (
        ("forward+Z", "none"),  # nearer than 44 pixels
        ("down+back+C", "none"),  # nearer than 62 pixels
        ("back+C", "forward+C"),  # nearer than 90 pixels
        ("forward+Y", "down+back+B"),  # nearer than 130 pixels
        ("back", "Z"),  # nearer than 190 pixels
        ("down", "projectile"),  # further away
    ),
    "blow begins": (
        ("rising", "none"),  # nearer than 44 pixels
        ("down+back", "none"),  # nearer than 62 pixels
        ("down+back", "down+B"),  # nearer than 90 pixels
        ("projectile", "down+forward+B"),  # nearer than 130 pixels
        ("projectile", "down+back+A"),  # nearer than 190 pixels
        ("back", "A"),  # further away
    ),
    "blow": (
        ("back", "Y"),  # nearer than 44 pixels
        ("down+back", "none"),  # nearer than 62 pixels
        ("projectile", "forward"),  # nearer than 90 pixels
        ("projectile", "down+forward+B"),  # nearer than 130 pixels
        ("projectile", "down+back+B"),  # nearer than 190 pixels
        ("down+back", "none"),  # further away
    ),
    "blow is past": (
        ("forward+C", "none"),  # nearer than 44 pixels
        ("down+Z", "none"),  # nearer than 62 pixels
        ("back+C", "C"),  # nearer than 90 pixels
        ("forward+A", "B"),  # nearer than 130 pixels
        ("forward+A", "projectile"),  # nearer than 190 pixels
        ("projectile", "Y"),  # further away
    ),
    "special begins": (
        ("down+back", "back"),  # nearer than 44 pixels
        ("down+back", "back"),  # nearer than 62 pixels
        ("down+back", "back"),  # nearer than 90 pixels
        ("up+forward", "none"),  # nearer than 130 pixels
        ("up+forward", "none"),  # nearer than 190 pixels
        ("projectile", "up+forward"),  # further away
    ),
    "special": (
        ("back+C", "none"),  # nearer than 44 pixels
        ("C", "none"),  # nearer than 62 pixels
        ("forward+C", "none"),  # nearer than 90 pixels
        ("down+back", "none"),  # nearer than 130 pixels
        ("projectile", "back+C"),  # nearer than 190 pixels
        ("projectile", "none"),  # further away
    ),
    "special is past": (
        ("back+Y", "none"),  # nearer than 44 pixels
        ("Y", "jump kick"),  # nearer than 62 pixels
        ("projectile", "C"),  # nearer than 90 pixels
        ("down+X", "Y"),  # nearer than 130 pixels
        ("back", "forward+A"),  # nearer than 190 pixels
        ("down+back", "none"),  # further away
    ),
    "was just hit": (
        ("back+C", "down+back+C"),  # nearer than 44 pixels
        ("back+A", "back+B"),  # nearer than 62 pixels
        ("forward+X", "forward+C"),  # nearer than 90 pixels
        ("forward+B", "forward"),  # nearer than 130 pixels
        ("forward+A", "forward"),  # nearer than 190 pixels
        ("projectile", "back+Y"),  # further away
    ),
    "was hit": (
        ("back+X", "back+B"),  # nearer than 44 pixels
        ("B", "back+B"),  # nearer than 62 pixels
        ("back+C", "down+back"),  # nearer than 90 pixels
        ("projectile", "forward+A"),  # nearer than 130 pixels
        ("projectile", "down+forward"),  # nearer than 190 pixels
        ("projectile", "C"),  # further away
    ),
}
