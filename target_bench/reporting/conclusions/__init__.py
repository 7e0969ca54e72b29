"""What a sweep shows: its best cells, the effect of each setting, and how two of them interact."""
