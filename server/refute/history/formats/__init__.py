"""The formats that histories come in, and the one function that reads any of them."""

from refute.history.formats.load import load

__all__ = ["load"]
