"""Opens the client that a plan describes, and chooses among several."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from refute.nemesis.client.rules import ClientRules
from refute.plan.system_spec import Client
from refute.workload.error import WorkloadError
from refute.workload.http_client import HttpOperationClient
from refute.workload.request import Endpoints, OperationClient
from refute.workload.worker_client import WorkerOperationClient


def open_client(
    client: Client,
    endpoints: Endpoints,
    *,
    where: str = "client",
    words: Mapping[str, Any] | None = None,
    directory: str | Path | None = None,
    log: Callable[[str], None] | None = None,
    rules: ClientRules | None = None,
) -> OperationClient:
    """A way to the system for one thread; close it, or use it as a context manager.

    `words` are what the words of a worker's command may hold (`{python}`, `{plan_dir}`,
    `{variables.NAME}`), `directory` is where relative paths of a worker start, `log` takes its
    lines. `rules` say what a client that speaks HTTP sends again. Raises WorkloadError for a description
    that cannot work: an unknown placeholder, a status with two meanings, a port that nodes lack, a
    command that does not exist.
    """
    if client.http is not None:
        return HttpOperationClient(client.http, endpoints, where=where, rules=rules)
    assert client.worker is not None  # a Client is one or the other
    return WorkerOperationClient(
        client.worker, endpoints, where=where, words=words, directory=directory, log=log
    )


def choose_client(
    clients: Mapping[str, Client], name: str | None, kinds: Iterable[str]
) -> tuple[str, Client]:
    """The client of that name, else the first that knows all the kinds; a worker may know any.

    Raises WorkloadError naming what is missing.
    """
    wanted = list(kinds)
    if name is not None:
        if name not in clients:
            known = ", ".join(clients) or "none"
            raise WorkloadError(f"the system has no client {name!r}", hint=f"it has: {known}")
        require_kinds(name, clients[name], wanted)
        return name, clients[name]
    for candidate, client in clients.items():
        if client.http is None or all(kind in client.http.operations for kind in wanted):
            return candidate, client
    raise WorkloadError(
        f"no client of the system knows {' and '.join(wanted)}",
        hint="; ".join(f"{key}: {', '.join(known_kinds(client))}" for key, client in clients.items())
        or "describe one under clients",
    )


def known_kinds(client: Client) -> tuple[str, ...]:
    """The kinds that a client is described for; empty for a worker, which is only known by running it."""
    return tuple(client.http.operations) if client.http is not None else ()


def require_kinds(name: str, client: Client, kinds: Iterable[str]) -> None:
    """Raises WorkloadError where an HTTP client has no description of one of the kinds."""
    if client.http is None:
        return
    for kind in kinds:
        if kind not in client.http.operations:
            raise WorkloadError(
                f"client {name!r} knows no operation {kind!r}",
                hint=f"it has: {', '.join(client.http.operations)}; describe it, or leave it out of mix",
            )
