"""indexerd: a search daemon whose answers are fresh, proved and cited."""

__version__ = "0.1.0"
__all__ = ["__version__"]
