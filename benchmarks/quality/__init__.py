"""How good codes are."""
