"""The engines: ``contracts`` says what is known of one, ``shipped`` registers those of the shipped repository.

The other packages take a registry and spell out no engine.
"""
