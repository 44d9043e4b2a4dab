"""The benchmarks: each figure beside its baseline, in one process, medians of many repeats."""
