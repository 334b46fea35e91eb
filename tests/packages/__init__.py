"""Both distributions built, and installed into environments of their own."""
