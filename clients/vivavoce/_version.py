"""Version of the distribution `vivavoce`."""

__version__ = "0.1.0"
