"""The games on this machine: where their ROMs, data and save states are, and how the states are split."""
