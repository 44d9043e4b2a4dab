"""The policy doctor: it plays with a policy, examines it, and writes a report."""
