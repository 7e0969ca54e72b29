"""Our own small corpus of public facts: look-alike tables and questions that tell them apart."""
