"""The system under test as a plan describes it in section 6b: nodes, commands, readiness, states, clients."""

from __future__ import annotations

import shlex
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from refute.plan.units import Seconds


class Strict(BaseModel):
    """Data of a plan: immutable, and an unknown key is an error instead of a silent default."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


def _argv(value: Any) -> Any:
    return shlex.split(value) if isinstance(value, str) else value


Argv = Annotated[tuple[str, ...], BeforeValidator(_argv), Field(min_length=1)]
"""A command as a list of words, or as one line that is split as a shell would split it. No shell runs it.

Words are templates: `{node}`, `{index}`, `{port.NAME}` and `{address.NAME}` of this node, `{peers}`,
`{data}` (this node's directory), `{python}`, `{plan_dir}`, `{variables.NAME}`.
"""


class Peers(Strict):
    """How a node is told of the others: one rendering for each peer, joined.

    `{peer}` is the other node's name, `{address}` the host:port at which *this* node reaches it,
    which is a directed link of the fault plane; `{port}` and `{host}` are its parts.
    """

    each: str = "{peer}={address}"
    join: str = ","
    include_self: bool = False


class Links(Strict):
    """Which port carries the traffic between nodes, and how the plane tells its callers apart.

    `per-link`: each node is given an address of its own for every peer (it uses `{peers}`).
    `shared`: all nodes must be given the same address for a peer (etcd's initial cluster), so that the
    caller is told from the socket that it opened.
    `transport` says what the port carries: `tcp`, `udp`, or `both` under the same number.
    `clients: proxied` puts the way from clients to nodes on the plane too; it cuts like that of a node
    named `client`.
    """

    port: str = "peer"
    callers: Literal["per-link", "shared"] = "per-link"
    transport: Literal["tcp", "udp", "both"] = "tcp"
    clients: Literal["direct", "proxied"] = "direct"


class Comparison(Strict):
    """What a value that was read must be; with none of them set, any value that is true."""

    equals: Any = None
    not_equals: Any = None
    at_least: float | None = None
    at_most: float | None = None
    matches: str | None = None


class HttpSource(Strict):
    """One HTTP request to a node."""

    path: str
    port: str = "client"
    method: str = "GET"
    headers: dict[str, str] = Field(default_factory=dict)
    body: Any = None
    status: int | None = None


class State(Comparison):
    """Something about a node that can be watched: read from exactly one source, then compared.

    `http` with `value` (a dotted path into the JSON answer, `peers.0.role`), `http` with `metric` (a
    Prometheus sample, `etcd_server_is_leader` or `name{label="x"}`), `log` (a regular expression; group 1
    is the value), `command` (its standard output, as JSON with `value`, else its exit status), or `tcp` (the
    name of a port that accepts). A node for which the state holds plays the role of the state's name.
    """

    http: HttpSource | None = None
    metric: str | None = None
    value: str | None = None
    log: str | None = None
    command: Argv | None = None
    tcp: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _path_alone(cls, data: Any) -> Any:
        if isinstance(data, dict) and isinstance(data.get("http"), str):
            http = {"path": data["http"]}
            if "port" in data:
                http["port"] = data["port"]
            return {key: value for key, value in data.items() if key != "port"} | {"http": http}
        return data

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        named = [name for name in ("http", "log", "command", "tcp") if getattr(self, name) is not None]
        if len(named) != 1:
            raise ValueError(
                f"a state is read from one of http, log, command, tcp; this has {named or 'none'}"
            )
        if self.metric is not None and self.http is None:
            raise ValueError("a metric is read over http: name the path, for example http: /metrics")
        return self


class Stop(Strict):
    """How a node is asked to stop, and how long it may take before it is killed."""

    signal: Literal["TERM", "INT", "QUIT", "KILL"] = "TERM"
    grace: Seconds = 5.0


class Version(Strict):
    """Another build or configuration of the same node: what differs from the first."""

    command: Argv | None = None
    env: dict[str, str] = Field(default_factory=dict)


class HttpOperation(Strict):
    """How one kind of operation is asked of an HTTP service, and how its answer is read.

    Templates: `{key}`, `{value}`, `{input.0}` (parts of a list input), `{extra.NAME}`, `{process}`,
    `{unique}`, with filters as in `{value|json|base64}` (json, base64, url, text, int); `{extra.NAME?}` may
    be missing. A template that is the whole string keeps the value's JSON type. `ok`, `fail` and `unknown`
    list statuses (`200`, `2xx`); a status in none of them is unknown. `output` is a dotted path into the JSON
    answer (`.` for all of it, absent: no output), or names to such paths; `decode` says what stands there:
    `json` (the value itself), `json-text` (a string that holds JSON), `base64` (of text), `base64-json` (of
    JSON), or `text` (the body is no JSON and is all of the output). `absent` lists statuses that mean "there
    is no such key", an ok answer of null. `extra` keeps further parts of the answer: a path or `header:NAME`.
    `fail_when` and `unknown_when` look into the answer: path to a value, or to a list of values.
    `redirect` names statuses whose Location, or the node named at `leader_at`, is followed once.
    """

    method: str = "GET"
    path: str
    query: dict[str, Any] = Field(default_factory=dict)
    headers: dict[str, str] = Field(default_factory=dict)
    body: Any = None
    ok: tuple[int | str, ...] = ("2xx",)
    fail: tuple[int | str, ...] = ()
    unknown: tuple[int | str, ...] = ()
    absent: tuple[int | str, ...] = ()
    output: str | dict[str, str] | None = None
    decode: Literal["json", "json-text", "text", "base64", "base64-json"] = "json"
    extra: dict[str, str] = Field(default_factory=dict)
    fail_when: dict[str, Any] = Field(default_factory=dict)
    unknown_when: dict[str, Any] = Field(default_factory=dict)
    redirect: tuple[int | str, ...] = ()
    leader_at: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _single_statuses(cls, data: Any) -> Any:
        if isinstance(data, dict):
            names = ("ok", "fail", "unknown", "absent", "redirect")
            return {
                key: [value] if key in names and isinstance(value, int | str) else value
                for key, value in data.items()
            }
        return data


class HttpClient(Strict):
    """A built-in worker that speaks HTTP and JSON."""

    port: str = "client"
    headers: dict[str, str] = Field(default_factory=dict)
    operations: dict[str, HttpOperation]


class WorkerClient(Strict):
    """A program that reads one JSON operation a line and answers one JSON line."""

    command: Argv
    env: dict[str, str] = Field(default_factory=dict)
    cwd: str | None = None


class Client(Strict):
    """How operations reach the system: exactly one of `http` and `worker`."""

    http: HttpClient | None = None
    worker: WorkerClient | None = None
    timeout: Seconds = 2.0

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.http is None) == (self.worker is None):
            raise ValueError("a client is either http or worker, and exactly one of them")
        return self


FIRST = "first"
"""The version that a description begins with, so that an upgrade can be rolled back."""


class SystemSpec(Strict):
    """One system that scenarios run against: N processes on loopback.

    `spares` are nodes too, with addresses, ports and a data directory of their own, that are not started: one
    of them joins where a fault adds it (membership/add), and leaves again when that fault is healed.
    """

    system: str
    nodes: tuple[str, ...] = Field(min_length=1)
    spares: tuple[str, ...] = ()
    ports: tuple[str, ...] = ("client",)
    command: Argv
    cwd: str | None = None
    env: dict[str, str] = Field(default_factory=dict)
    variables: dict[str, str] = Field(default_factory=dict)
    peers: Peers = Peers()
    links: Links | None = None
    ready: tuple[State | str, ...] = ()
    ready_timeout: Seconds = 20.0
    stop: Stop = Stop()
    versions: dict[str, Version] = Field(default_factory=dict)
    states: dict[str, State] = Field(default_factory=dict)
    commands: dict[str, Argv] = Field(default_factory=dict)
    setup: tuple[str, ...] = ()
    clients: dict[str, Client] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _short_forms(cls, data: Any) -> Any:
        if isinstance(data, dict):
            data = dict(data)
            if isinstance(data.get("nodes"), int):
                data["nodes"] = [f"n{index + 1}" for index in range(data["nodes"])]
            if isinstance(data.get("spares"), int) and isinstance(data.get("nodes"), list | tuple):
                first = len(data["nodes"]) + 1
                data["spares"] = [f"n{number}" for number in range(first, first + data["spares"])]
            if isinstance(data.get("ready"), dict | str):
                data["ready"] = [data["ready"]]
            if isinstance(data.get("variables"), dict):
                data["variables"] = {name: str(value) for name, value in data["variables"].items()}
        return data

    @property
    def everyone(self) -> tuple[str, ...]:
        """The nodes, then the spares."""
        return (*self.nodes, *self.spares)

    def has_version(self, name: str) -> bool:
        """Whether nodes can be started in that version; `first` is what `command` and `env` say."""
        return name == FIRST or name in self.versions

    @model_validator(mode="after")
    def _names_exist(self) -> Self:
        if len(set(self.nodes)) != len(self.nodes):
            raise ValueError("two nodes have the same name")
        if again := set(self.nodes) & set(self.spares):
            raise ValueError(f"{min(again)} is a spare and a node: a spare is not there at the beginning")
        if len(set(self.spares)) != len(self.spares):
            raise ValueError("two spares have the same name")
        if FIRST in self.versions:
            raise ValueError("the version 'first' is what command and env say: give yours another name")
        if self.links and self.links.port not in self.ports:
            raise ValueError(f"links names port {self.links.port!r}, not one of {list(self.ports)}")
        for probe in self.ready:
            if isinstance(probe, str) and probe not in self.states:
                raise ValueError(f"ready names the state {probe!r}, which is not in states")
        for name in self.setup:
            if name not in self.commands:
                raise ValueError(f"setup names the command {name!r}, which is not in commands")
        return self
