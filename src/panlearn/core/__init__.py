"""What every family stands on."""
