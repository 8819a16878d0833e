"""The formats that histories come in: one function reads any of them, two write."""

from refute.history.formats.load import FORMATS, detect, load
from refute.history.formats.write import write_edn, write_jsonl

__all__ = ["FORMATS", "detect", "load", "write_edn", "write_jsonl"]
