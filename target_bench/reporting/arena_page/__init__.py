"""The page of the arena: metrics of tables beside people and known errors."""
