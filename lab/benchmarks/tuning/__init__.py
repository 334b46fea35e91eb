"""Searches the settings with which a machine holds the most conversations within the budget."""
