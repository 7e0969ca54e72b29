"""The leaderboard as a static site: an overview, a page a task, a page an entry."""

from target_bench.leaderboard.site.building import Built, build

__all__ = ["Built", "build"]
