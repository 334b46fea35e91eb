"""Dialogs: agents that ask for what is missing, remember it and act; the machine is a pure function."""
