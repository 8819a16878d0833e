"""Who may do what: bearer tokens of tenants."""

from __future__ import annotations

import hmac
import re
from pathlib import Path

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


class TenantError(Exception):
    """A tenant line that cannot be used."""


def parse_tenant(text: str) -> tuple[str, str]:
    """`name:token` as a pair. Names are lower-case letters, digits and dashes."""
    name, separator, token = text.strip().partition(":")
    if not separator or not token or not NAME.fullmatch(name):
        raise TenantError(f"expected name:token, got {text.strip()!r}")
    return name, token


def read_tenants(path: Path) -> list[str]:
    """The `name:token` lines of a file; blank lines and lines with # are skipped."""
    try:
        lines = path.read_text().splitlines()
    except OSError as error:
        raise TenantError(f"cannot read {path}: {error.strerror}") from error
    return [line for line in lines if line.strip() and not line.lstrip().startswith("#")]


class Tenants:
    """Finds the tenant that a token belongs to."""

    def __init__(self, lines: list[str]) -> None:
        pairs = [parse_tenant(line) for line in lines]
        self._tokens = {name: token.encode() for name, token in pairs}
        if len(self._tokens) != len(pairs):
            raise TenantError("a tenant is listed twice")
        if len(set(self._tokens.values())) != len(pairs):
            raise TenantError("two tenants have the same token")

    def by_token(self, token: str) -> str | None:
        given = token.encode()
        found = [name for name, known in self._tokens.items() if hmac.compare_digest(known, given)]
        return found[0] if found else None
