"""The HTTP API of toxiproxy, as far as our own proxies and toxics need it."""

from __future__ import annotations

import http.client
import json
import os
from typing import Any

from refute.nemesis.errors import NemesisError
from refute.nemesis.targets import require_allowed

VARIABLE = "REFUTE_TOXIPROXY"
DEFAULT = "127.0.0.1:8474"
_TIMEOUT_S = 5.0


class GoneError(NemesisError):
    """Nobody listens at the address any more; whatever toxiproxy had on has gone with it."""


def address() -> str:
    """Where toxiproxy is, as whoever started refute says: `REFUTE_TOXIPROXY`, else its usual place."""
    return os.environ.get(VARIABLE) or DEFAULT


class Api:
    """Requests to one toxiproxy. Raises TargetRefusedError for an address that nobody has allowed."""

    def __init__(self, place: str) -> None:
        host, _, port = place.rpartition(":")
        self.host = host.strip("[]")
        if not port.isdigit():
            raise NemesisError(f"{place!r} is no address of a toxiproxy", hint="write host:port")
        self.port = int(port)
        self.place = place
        require_allowed(self.host, self.port, what="toxiproxy")

    def version(self) -> str:
        """What it says of itself. Raises NemesisError where something else answers."""
        status, said = self._send("GET", "/version")
        if status != 200 or len(said) > 200:
            raise NemesisError(f"what answers at {self.place} is no toxiproxy")
        try:
            return str(json.loads(said)["version"])  # since 2.6; before, the bare version
        except (ValueError, KeyError, TypeError):
            return said.decode(errors="replace").strip()

    def proxies(self) -> dict[str, Any]:
        """All proxies by name, ours and those of others."""
        found: dict[str, Any] = self._json("GET", "/proxies")
        return found

    def create(self, name: str, upstream: str) -> str:
        """A proxy on a free port; where it listens. Raises NemesisError where there is one of that name."""
        listen = f"{'[::1]' if ':' in self.host else '127.0.0.1'}:0"
        written = {"name": name, "listen": listen, "upstream": upstream, "enabled": True}
        made = self._json("POST", "/proxies", written)
        return str(made["listen"])

    def delete(self, name: str) -> None:
        """Remove a proxy; one that is not there is no error."""
        self._json("DELETE", f"/proxies/{name}", missing_is_fine=True)

    def enable(self, name: str, *, on: bool) -> None:
        """Switch a proxy on or off; switching on one that is not there is no error."""
        self._json("POST", f"/proxies/{name}", {"enabled": on}, missing_is_fine=on)

    def add(self, proxy: str, toxic: str, kind: str, attributes: dict[str, Any]) -> None:
        """Put a toxic on what goes from the caller to the callee."""
        written = {
            "name": toxic,
            "type": kind,
            "stream": "upstream",
            "toxicity": 1.0,
            "attributes": attributes,
        }
        self._json("POST", f"/proxies/{proxy}/toxics", written)

    def remove(self, proxy: str, toxic: str) -> None:
        """Take a toxic off; one that is not there is no error."""
        self._json("DELETE", f"/proxies/{proxy}/toxics/{toxic}", missing_is_fine=True)

    def _json(self, method: str, path: str, body: Any = None, *, missing_is_fine: bool = False) -> Any:
        status, said = self._send(method, path, body)
        if status == 404 and missing_is_fine:
            return {}
        if status >= 300:
            what = said.decode(errors="replace").strip()[:200]
            raise NemesisError(f"toxiproxy refuses {method} {path}: {status} {what}")
        return json.loads(said) if said.strip() else {}

    def _send(self, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=_TIMEOUT_S)
        try:
            payload = None if body is None else json.dumps(body).encode()
            # Without a name of its own it takes us for a browser, and refuses.
            headers = {"User-Agent": "refute", "Content-Type": "application/json"}
            connection.request(method, path, payload, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except ConnectionRefusedError as error:
            raise GoneError(
                f"no toxiproxy answers at {self.place}",
                hint=f"start toxiproxy-server, or name its address in {VARIABLE}",
            ) from error
        except (OSError, http.client.HTTPException) as error:
            raise NemesisError(f"toxiproxy at {self.place} does not answer: {error}") from error
        finally:
            connection.close()
