"""A performance client for any model of a Triton: loads it, waits until it is steady, and says where the time goes."""
