"""The HTTP API of a container engine on this machine: Docker's, which Podman speaks as well."""

from __future__ import annotations

import http.client
import json
import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from refute.nemesis.errors import NemesisError
from refute.nemesis.targets import TargetRefusedError, production_word

LABEL = "refute.node"
"""The label of a node's container; its value is the node's data directory, which no other run has."""

_TIMEOUT_S = 30.0


class GoneError(NemesisError):
    """Nobody listens at the engine's socket."""


def engine_socket() -> Path:
    """Where the engine of this machine listens: as `DOCKER_HOST` says, else at one of the usual places.

    Raises TargetRefusedError for an engine elsewhere, NemesisError where there is none.
    """
    if named := os.environ.get("DOCKER_HOST"):
        scheme, _, rest = named.partition("://")
        if scheme != "unix":
            raise TargetRefusedError(
                f"DOCKER_HOST is {named!r}: containers of another machine are no target",
                hint="name a socket of this one: unix:///run/podman/podman.sock",
            )
        return Path(rest)
    runtime = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    places = ("/var/run/docker.sock", "/run/podman/podman.sock", f"{runtime}/podman/podman.sock")
    for place in places:
        if Path(place).is_socket():
            return Path(place)
    raise NemesisError(
        f"no container engine is here: no socket at {', '.join(places)}",
        hint="start Docker, or podman system service",
    )


class Engine:
    """Requests to one engine. Each that changes a container looks at its label first."""

    def __init__(self, place: str | Path) -> None:
        self.place = str(place)

    def version(self) -> str:
        """Name and version, as the engine says."""
        found = self._json("GET", "/version")
        name = (found.get("Platform") or {}).get("Name") or "engine"
        return f"{name} {found.get('Version', '?')}"

    def container(self, label: str) -> Mapping[str, Any] | None:
        """The container of a node, by the value of its label; None where there is none."""
        listed = self._listed(label)
        if len(listed) > 1:
            raise NemesisError(f"{len(listed)} containers carry the label {LABEL}={label}")
        return self.inspect(listed[0]) if listed else None

    def inspect(self, container: str) -> Mapping[str, Any] | None:
        """One container by its id; None where it is gone."""
        status, said = self._send("GET", f"/containers/{quote(container)}/json")
        if status == 404:
            return None
        found: Mapping[str, Any] = self._read(status, said, "inspect")
        return found

    def change(self, container: str, label: str, do: str, **query: str) -> None:
        """Do something to our own container: `pause`, `unpause`, `kill`, `stop`. Raises NemesisError."""
        self._require_ours(container, label)
        asked = f"?{urlencode(query)}" if query else ""
        self._json("POST", f"/containers/{quote(container)}/{do}{asked}", fine=(304,))

    def remove(self, label: str) -> None:
        """Remove whatever carries exactly this label."""
        for container in self._listed(label):
            self._json("DELETE", f"/containers/{quote(container)}?force=true", fine=(404,))

    def network(self, container: str, label: str, network: str, do: str, more: Mapping[str, Any]) -> None:
        """`connect` or `disconnect` our own container."""
        self._require_ours(container, label)
        self._json("POST", f"/networks/{quote(network)}/{do}", {"Container": container, **more})

    def _listed(self, label: str) -> list[str]:
        filters = json.dumps({"label": [f"{LABEL}={label}"]})
        listed = self._json("GET", f"/containers/json?{urlencode({'all': 'true', 'filters': filters})}")
        return [each["Id"] for each in listed if (each.get("Labels") or {}).get(LABEL) == label]

    def _require_ours(self, container: str, label: str) -> None:
        found = self.inspect(container)
        if found is None:
            raise NemesisError(f"the container {container[:12]} is gone")
        if ((found.get("Config") or {}).get("Labels") or {}).get(LABEL) != label:
            raise NemesisError(
                f"the container {container[:12]} is not ours: it lacks the label {LABEL}={label}"
            )
        if word := production_word(str(found.get("Name", ""))):
            raise TargetRefusedError(f"the container {found['Name']} has {word!r} in its name")

    def _json(self, method: str, path: str, body: Any = None, *, fine: tuple[int, ...] = ()) -> Any:
        status, said = self._send(method, path, body)
        return {} if status in fine else self._read(status, said, f"{method} {path.partition('?')[0]}")

    def _read(self, status: int, said: bytes, what: str) -> Any:
        if status >= 300:
            raise NemesisError(f"the engine refuses {what}: {status} {said.decode(errors='replace')[:200]}")
        return json.loads(said) if said.strip().startswith((b"{", b"[")) else {}

    def _send(self, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        connection = _OverSocket(self.place)
        try:
            payload = None if body is None else json.dumps(body).encode()
            connection.request(method, path, payload, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (FileNotFoundError, ConnectionRefusedError) as error:
            raise GoneError(f"no container engine answers at {self.place}") from error
        except (OSError, http.client.HTTPException) as error:
            raise NemesisError(f"the container engine at {self.place} does not answer: {error}") from error
        finally:
            connection.close()


class _OverSocket(http.client.HTTPConnection):
    def __init__(self, place: str) -> None:
        super().__init__("localhost", timeout=_TIMEOUT_S)
        self._place = place

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(_TIMEOUT_S)
        self.sock.connect(self._place)
