"""From bytes in the caller's encoding to 16 kHz mono samples."""
