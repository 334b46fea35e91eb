"""Version of the distribution `vivavoce`."""

__version__ = "0.2.0"
