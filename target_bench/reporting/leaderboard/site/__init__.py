"""The leaderboard as a static site: an overview, a page a task, a page an entry."""

from target_bench.reporting.leaderboard.site.site_writer import Built, build

__all__ = ["Built", "build"]
