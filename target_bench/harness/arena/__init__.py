"""The arena: metrics of tables tested against rankings by people and against known errors."""
