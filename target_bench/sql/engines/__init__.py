"""The engines that run SQL, each behind limits."""
