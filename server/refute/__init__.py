"""refute: find out whether a distributed system keeps its promises."""

__version__ = "0.1.0"
