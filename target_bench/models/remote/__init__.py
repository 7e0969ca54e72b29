"""Models behind an API: the client of the OpenAI API, and bases of generators."""
