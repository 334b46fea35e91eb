"""Engines: ``contracts`` describes one, ``shipped`` registers the shipped ones.

The other packages take a registry and spell out no engine.
"""
