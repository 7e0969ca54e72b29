"""Training of encoders, and what is known afterwards of the data they were trained on."""
