"""Storage of knowledge bases, and hybrid search in them."""
