"""Callers that send what no client should, and what others feel of them."""
