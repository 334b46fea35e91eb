"""Dialogs: slot-filling agents, driven by a pure state machine."""
