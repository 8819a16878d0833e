"""What Podman has put into this machine's packet filter and among its links, taken away again after the tests.

Podman keeps its chains once a container was on a bridge. refute touches no rule that it did not make; tests that have
had it make some do, and only what was not there before the first of them.
"""

from __future__ import annotations

import fcntl
import json
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_PLACE = Path(tempfile.gettempdir()) / "refute-test-engine-rules"
_ENGINE_S = ("CNI-", "NETAVARK")
_BRIDGES = ("cni-podman", "podman")


@contextmanager
def engine_rules_are_gone_afterwards() -> Iterator[None]:
    """Tests run side by side: the first to come notes what is there, the last to go takes away what is new."""
    with _PLACE.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            file.truncate(0)
            file.write(json.dumps(sorted(_identities())))
            file.flush()
        except BlockingIOError:
            pass
        fcntl.flock(file, fcntl.LOCK_SH)
        try:
            yield
        finally:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            file.seek(0)
            _take_away(set(map(tuple, json.loads(file.read()))))


def _take_away(before: set[tuple[str, ...]]) -> None:
    new = [each for each in _listed() if _identity(each) not in before]
    rules = [each["rule"] for each in new if "rule" in each and any(name in str(each) for name in _ENGINE_S)]
    for rule in rules:
        _nft("delete", "rule", rule["family"], rule["table"], rule["chain"], "handle", str(rule["handle"]))
    for chain in [each["chain"] for each in new if "chain" in each]:
        if chain["name"].startswith(_ENGINE_S) or "hook" in chain:
            _nft("delete", "chain", chain["family"], chain["table"], chain["name"])
    for table in [each["table"] for each in new if "table" in each]:
        if not any(_belongs(each, table) for each in _listed()):  # somebody else's chain keeps it
            _nft("delete", "table", table["family"], table["name"])
    for kind, name in [each for each in _links() if each not in before]:
        if name.startswith(_BRIDGES):
            subprocess.run(["ip", kind, "delete", name], check=True, capture_output=True)
    left = [each for each in _identities() - before if _names_the_engine(each)]
    assert not left, f"left of the engine: {left}"


def _names_the_engine(identity: tuple[str, ...]) -> bool:
    return any(word.startswith((*_ENGINE_S, *_BRIDGES)) for word in identity)


def _identities() -> set[tuple[str, ...]]:
    return {_identity(each) for each in _listed()} | set(_links())


def _identity(listed: dict[str, Any]) -> tuple[str, ...]:
    ((kind, what),) = listed.items()
    place = (str(what.get(name, "")) for name in ("family", "table", "chain", "name", "handle"))
    return (kind, *place)


def _belongs(listed: dict[str, Any], table: dict[str, Any]) -> bool:
    ((_, what),) = listed.items()
    return (what.get("family"), what.get("table")) == (table["family"], table["name"])


def _listed() -> list[dict[str, Any]]:
    done = subprocess.run(
        ["nft", "-j", "-a", "list", "ruleset"], capture_output=True, text=True, check=True
    ).stdout
    return [each for each in json.loads(done)["nftables"] if "metainfo" not in each]


def _links() -> list[tuple[str, str]]:
    listed = subprocess.run(["ip", "-j", "link"], capture_output=True, text=True, check=True).stdout
    return [("link", each["ifname"]) for each in json.loads(listed)]


def _nft(*words: str) -> None:
    subprocess.run(["nft", *words], check=True, capture_output=True)
