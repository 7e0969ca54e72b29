"""The leaderboard as a static site: an overview, one page per task, one page per entry."""

from target_bench.reporting.leaderboard.site.site_writer import Built, build

__all__ = ["Built", "build"]
