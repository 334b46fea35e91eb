"""The demonstration: recordings and documents that come with the project, and the program that shows them at work."""
