"""The same speech over every door of a service: the same words, as soon, for as little of a core."""
