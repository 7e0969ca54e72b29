"""Worker processes: a crash or a hanging statement affects only its own query."""
