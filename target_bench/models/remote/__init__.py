"""Models elsewhere: the client of the OpenAI API, recorded answers, bases of generators."""
