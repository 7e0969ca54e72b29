"""Tables with one known error, or written otherwise without one, to test metrics of tables with."""
