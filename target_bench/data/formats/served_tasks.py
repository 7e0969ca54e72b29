"""Tasks that a user's own data serve."""

from target_bench.core import registry


def served_tasks(with_databases: bool) -> tuple[str, ...]:
    """List the known tasks that data of one's own can serve, by their short names.

    Args:
        with_databases: whether the tables lie in databases, which SQL can be run on.
    """
    classes = [registry.resolve("task", name) for name in registry.names("task")]
    return tuple(cls.name for cls in classes if with_databases or not cls.needs_databases)
