"""SQL: which tables it reads, how it is translated and executed safely, what results mean."""
