"""Instructions that describe tables, and models that are tuned to follow them (Struc-Bench)."""
