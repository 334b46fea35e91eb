"""Sentence embeddings: vectors whose cosine tells how alike two texts are in meaning."""
