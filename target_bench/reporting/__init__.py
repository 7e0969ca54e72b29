"""Readers of finished runs: comparisons, plots, reports and the leaderboard."""
