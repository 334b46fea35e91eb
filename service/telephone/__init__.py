"""Telephone calls: a `Call` behind whatever protocol a switch speaks."""
