"""Costs of streaming recognizers, with networks of random weights in the sizes that are published."""
