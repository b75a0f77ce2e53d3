"""The panlearn command."""
