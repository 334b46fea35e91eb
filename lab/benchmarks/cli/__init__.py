"""The commands that measure: bench and tune, entry points of `vivavoce`."""
