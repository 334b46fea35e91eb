"""Stages of a turn: intent, answer and speech."""
