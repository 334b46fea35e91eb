"""BERT engines: tokenization, batched inference and decoding."""
