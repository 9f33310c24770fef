"""The command line. Empty on purpose: the query fast path imports light modules of this package and nothing else."""
