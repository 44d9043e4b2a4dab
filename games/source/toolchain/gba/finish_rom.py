"""Pad a cartridge and write the checksum into its header: `finish_rom.py rom.gba`."""

from __future__ import annotations

import sys
from pathlib import Path

BLOCK = 1024
CHECKED = slice(0xA0, 0xBD)
CHECKSUM = 0xBD
CHECKSUM_START = 0x19
"""The BIOS of the console takes this off as well."""


def finish(rom: bytes) -> bytes:
    """Return a cartridge padded to whole blocks, with the checksum of its header set."""
    done = bytearray(rom)
    done.extend(bytes(-len(done) % BLOCK))
    done[CHECKSUM] = -(sum(done[CHECKED]) + CHECKSUM_START) & 0xFF
    return bytes(done)


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_bytes(finish(path.read_bytes()))
