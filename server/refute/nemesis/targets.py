"""What a fault may be aimed at: this machine's loopback, and what a person has written down in a file.

Own namespaces need no leave, as refute makes them. Everything else that is named by an address (another
proxy's API, an engine's) passes `require_allowed`. The file is `~/.config/refute/targets.toml` of the account
that refute runs as; neither an argument, nor a plan, nor the environment says where it is.
"""

from __future__ import annotations

import ipaddress
import os
import pwd
import re
import stat
import tomllib
from dataclasses import dataclass
from pathlib import Path

from refute.errors import InputError

_PRODUCTION = frozenset({"prod", "prd", "production", "productive", "live"})
_WORD = re.compile(r"[a-z]+")
_HOST = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)*[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?")
_EXAMPLE = 'a [[target]] with host = "10.1.2.3", ports = [8474], why = "whose it is, and who has agreed"'


class TargetRefusedError(InputError):
    """A fault is aimed at something that nobody has allowed."""


@dataclass(frozen=True, slots=True)
class Target:
    """One entry of the file."""

    host: str
    ports: frozenset[int]
    why: str


def require_allowed(host: str, port: int, *, what: str) -> None:
    """Raise TargetRefusedError unless faults may be injected by way of this address.

    Loopback is a literal address of it, or `localhost`; another name is none, whatever it resolves to today.
    A name that says production is refused, allowed or not.
    """
    if word := production_word(host):
        raise TargetRefusedError(
            f"{what} at {host}: {word!r} in a name means production, which is never a target",
            hint="give a test system a name that cannot be mistaken",
        )
    if is_loopback(host):
        return
    if not _is_plain(host):
        raise TargetRefusedError(f"{what}: {host!r} is neither an address nor the name of a host")
    path = allow_list()
    if not any(target.host == host.lower() and port in target.ports for target in read_targets(path)):
        raise TargetRefusedError(
            f"{what} at {host}:{port} is not on this machine, and nobody has allowed it",
            hint=f"a person may write into {path}: {_EXAMPLE}",
        )


def is_loopback(host: str) -> bool:
    """Whether it is a literal address of this machine's loopback, or `localhost`.

    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "127.1", "0.0.0.0", "127.0.0.1.example.org")]
    [True, True, False, False, False]
    """
    if host.lower() == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def production_word(name: str) -> str | None:
    """The word in a name that says production; None where there is none.

    >>> [production_word(name) for name in ("db-prod-2.example.org", "eu1prod", "prodeu", "products")]
    ['prod', 'prod', 'prod', None]
    """
    for word in _WORD.findall(name.lower()):
        if word in _PRODUCTION:
            return str(word)
        if "production" in word:
            return "production"
        if word.endswith("prod") or (word.startswith("prod") and not word.startswith("produc")):
            return "prod"
    return None


def allow_list() -> Path:
    """Where the file is: in the home directory of the account, not where a variable says that it is.

    Raises TargetRefusedError where the account has no entry, as in a container that runs as any number.
    """
    try:
        home = pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        raise TargetRefusedError(
            f"user {os.getuid()} has no account here, so that nobody can have allowed a target",
            hint="run refute as one that has a home directory",
        ) from None
    return Path(home) / ".config" / "refute" / "targets.toml"


def read_targets(path: Path) -> tuple[Target, ...]:
    """The entries of the file; none where there is no file.

    Raises TargetRefusedError where others could have written it, or where it is malformed: then nothing in
    it counts.
    """
    try:
        content = _read_own(path)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise TargetRefusedError(f"it cannot be read: {error.strerror}", where=path) from None
    try:
        written = tomllib.loads(content.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TargetRefusedError(f"it is not TOML: {error}", where=path) from None
    entries = written.get("target")
    if set(written) - {"target"} or not isinstance(entries, list):
        raise TargetRefusedError("it holds [[target]] entries and nothing else", where=path, hint=_EXAMPLE)
    return tuple(_target(entry, path) for entry in entries)


def _read_own(path: Path) -> bytes:
    # Without waiting, so that a pipe in its place is seen to be one.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(descriptor)
        _require_own(found, path)
        if not stat.S_ISREG(found.st_mode):
            raise TargetRefusedError("it is no file", where=path)
        for folder in (path.parent, path.parent.parent):
            _require_own(folder.stat(), folder)
        with open(descriptor, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)


def _require_own(found: os.stat_result, path: Path) -> None:
    if found.st_uid not in (os.getuid(), 0):
        raise TargetRefusedError("it belongs to somebody else, so that nothing in it counts", where=path)
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise TargetRefusedError(
            "others may write to it, so that nothing in it counts", where=path, hint=f"chmod go-w {path}"
        )


def _target(entry: object, path: Path) -> Target:
    if not isinstance(entry, dict) or set(entry) != {"host", "ports", "why"}:
        raise TargetRefusedError("an entry has host, ports and why", where=path, hint=_EXAMPLE)
    host, ports, why = entry["host"], entry["ports"], entry["why"]
    if not isinstance(host, str) or not _is_plain(host):
        raise TargetRefusedError(f"{host!r} is neither an address nor the name of one host", where=path)
    if not isinstance(ports, list) or not ports or not all(_is_port(port) for port in ports):
        raise TargetRefusedError(f"{host}: ports is a list of numbers", where=path)
    if not isinstance(why, str) or not why.strip():
        raise TargetRefusedError(f"{host}: say in why whose machine it is", where=path)
    return Target(host.lower(), frozenset(ports), why)


def _is_port(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 65536


def _is_plain(host: str) -> bool:
    # One host exactly: no pattern, no network, no credentials, no short form such as 127.1 or 2130706433.
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return (
            bool(_HOST.fullmatch(host)) and not host.replace(".", "").isdigit() and "0x" not in host.lower()
        )
    return True
