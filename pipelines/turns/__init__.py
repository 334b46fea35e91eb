"""Turns as a pure function: ``machine.step(state, event) -> (state, effects)``."""
