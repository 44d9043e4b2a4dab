"""A checked workflow compiled into a plan, and the engine that ticks it."""
