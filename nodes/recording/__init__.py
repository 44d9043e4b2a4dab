"""Recording nodes: scores, clips, pictures and logs in the run folder."""
