"""Metrics of sentences that describe cells of a table: ToTTo's BLEU and PARENT."""
