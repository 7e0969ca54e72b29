"""Forms that people fill in: one HTML file each, whose answers are saved as a file of JSON."""
