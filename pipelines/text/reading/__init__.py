"""Preparation of documents for question answering, and of its answers."""
