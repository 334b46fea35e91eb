"""Makes trained engines smaller and faster, and measures what that costs."""
