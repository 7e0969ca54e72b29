"""Tables and queries: read, checked, cached, selected and mixed."""
