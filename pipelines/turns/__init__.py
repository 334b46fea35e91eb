"""The life of turns as a pure function: ``machine.step(state, event) -> (state, effects)``."""
