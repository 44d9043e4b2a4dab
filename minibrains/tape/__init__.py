"""The tape of a run: its file format, recording and replay."""
