"""The Python scripts in the pages of the documentation."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from tests.support.paths import ROOT

_BLOCK: Final = re.compile(r"^```python (\S+)\n(.*?)^```\n\n((?:    [^\n]*\n)*)", re.M | re.S)


class Script(NamedTuple):
    """A script of a page."""

    text: str
    printed: str
    """What it prints, as the page says; empty: the page does not say it."""


def read_scripts(page: str) -> dict[str, Script]:
    """Return the scripts of a page in `docs` by their file names."""
    scripts: dict[str, Script] = {}
    for name, text, printed in _BLOCK.findall((ROOT / "docs" / page).read_text()):
        scripts[name] = Script(text, re.sub("^    ", "", printed, flags=re.M))
    return scripts
