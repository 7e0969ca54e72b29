"""Tables as answers: read from text, compared with reference tables."""
