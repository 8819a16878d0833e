"""The directory in which Jepsen and Maelstrom leave a run."""

from __future__ import annotations

import os
from pathlib import Path

from refute.history.error import HistoryError
from refute.history.formats.jepsen import read_edn, read_json
from refute.history.formats.jepsen_text import read_tabbed
from refute.history.history import History
from refute.history.pairing import OnBadLine


def read_store(path: str | os.PathLike[str], *, on_bad_line: OnBadLine = "error") -> History:
    """The directory that Jepsen leaves of a run, and Maelstrom with it: its history.edn or history.txt."""
    directory = Path(path)
    for name, read in (("history.edn", read_edn), ("history.json", read_json), ("history.txt", read_tabbed)):
        for suffix in ("", ".gz", ".zst"):
            file = directory / (name + suffix)
            if file.is_file():
                return read(file, on_bad_line=on_bad_line)
    raise HistoryError("no history.edn, history.json or history.txt is in this directory", where=directory)
