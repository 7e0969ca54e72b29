"""What classes of the original TARGET package import, for tests where it is not installed."""
