"""Plain frozen data that every room may import, and that imports none."""
