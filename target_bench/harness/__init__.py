"""Evaluation: what is run on what, the stages of a run, sweeps."""
