"""Refuse machine code that a plain 68000 cannot run: `check_object.py game.elf`.

gcc merges neighbouring byte stores into word or long stores even where the address is odd (a 68000
traps there, and some emulators silently corrupt memory instead), and may call helpers written for
a 68020. The flags in genesis.mk avoid both; this looks at what came out.
"""

from __future__ import annotations

import re
import subprocess
import sys

ODD_ACCESS = re.compile(
    r"\b(?:move|clr|add|sub|tst|cmp|and|or|eor)[a-z]*[wl]\b.*%(?:a[0-7]|fp|sp)@\(-?\d*[13579]\)"
)
ONLY_68020 = re.compile(r"^(?:mul[su]l|div[su]l|div[su]ll|extbl|bf[a-z]+|bsrl|rtd)\b")


def faults(listing: str) -> list[str]:
    """Return the lines of a disassembly that a 68000 cannot run."""
    found: list[str] = []
    for line in listing.splitlines():
        *before, instruction = line.split("\t")
        if len(before) >= 2 and (ODD_ACCESS.search(instruction) or ONLY_68020.search(instruction)):
            found.append(line)
    return found


if __name__ == "__main__":
    objdump = ["m68k-linux-gnu-objdump", "-d", "-m", "m68k:68020", sys.argv[1]]
    bad = faults(subprocess.run(objdump, check=True, capture_output=True, text=True).stdout)
    if bad:
        sys.exit(f"{sys.argv[1]}: a 68000 cannot run this:\n" + "\n".join(bad[:20]))
