"""Sentence embeddings: vectors whose cosine is similarity of meaning."""
