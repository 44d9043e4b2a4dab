"""Pad a cartridge, write its size and checksum into the header: `finish_rom.py rom.md`."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

BLOCK = 2048
HEADER_END = 0x200
CHECKSUM = slice(0x18E, 0x190)
ROM_END = slice(0x1A4, 0x1A8)


def finish(rom: bytes) -> bytes:
    """Return a cartridge padded to whole blocks, with size and checksum set."""
    done = bytearray(rom)
    done.extend(bytes(-len(done) % BLOCK))
    done[ROM_END] = (len(done) - 1).to_bytes(4, "big")
    count = (len(done) - HEADER_END) // 2
    words = struct.unpack_from(f">{count}H", done, HEADER_END)
    done[CHECKSUM] = (sum(words) & 0xFFFF).to_bytes(2, "big")
    return bytes(done)


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_bytes(finish(path.read_bytes()))
