"""Calls of people, as a telephone and a browser make them."""
