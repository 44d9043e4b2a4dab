"""The games on this machine: their ROMs, data and save states, and the split of the states."""
