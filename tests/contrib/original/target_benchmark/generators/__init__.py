class AbsGenerator:
    pass
