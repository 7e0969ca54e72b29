"""Building blocks of plug-ins."""
