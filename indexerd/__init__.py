"""indexerd: a search daemon whose answers are fresh, proved and cited.

`open` gives an index to ask, `check` holds a claim to passages without one, `Client` is one connection to a daemon; see
docs/python.md. They are loaded when they are first named: importing the package costs nothing.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from indexerd.api import Index, check
    from indexerd.api import open_index as open  # noqa: A004 - read as indexerd.open
    from indexerd.client import Client

__version__ = "0.1.0"
__all__ = ["Client", "Index", "__version__", "check", "open"]

_PLACES = {
    "Client": ("indexerd.client", "Client"),
    "Index": ("indexerd.api", "Index"),
    "check": ("indexerd.api", "check"),
    "open": ("indexerd.api", "open_index"),
}


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module 'indexerd' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - only for those who ask

    module, attribute = _PLACES[name]
    return getattr(import_module(module), attribute)
