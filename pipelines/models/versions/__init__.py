"""Engines that are replaced while turns run: which version of each serves, and how one takes over from another."""
