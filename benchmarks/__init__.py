"""What the package costs and holds, measured; a script each."""
