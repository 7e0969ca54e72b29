"""The questions of the embedded corpus ``mini``, with the checks that derive their answers."""
