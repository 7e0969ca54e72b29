"""Values, contracts, the registry, identity, files: what every other room stands on."""
