"""Data of a dialog: its state, events and actions."""
