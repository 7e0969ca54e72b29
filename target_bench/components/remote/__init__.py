"""What remote models share: limits, retries, recorded answers and an event loop of their own."""
