"""Speaker embeddings, inside Triton's process."""
