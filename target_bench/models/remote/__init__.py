"""Parts of remote models: limits, retries, recorded answers and an event loop."""
