"""Dialogs with the real models: scripts that are spoken, and simulated callers who answer with recordings."""
