"""Reading one state of one node: over HTTP, from its log, from a command's answer or from a port."""

from __future__ import annotations

import json
import re
import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from refute.plan.system_spec import Comparison, HttpSource, State
from refute.system.cluster import Cluster
from refute.system.errors import ClusterError, ClusterInputError
from refute.system.http_probe import HttpProbe
from refute.system.templates import render, render_words

READ_TIMEOUT_S = 1.0
_COMMAND_TIMEOUT_S = 5.0
_ABSENT = object()
_COMPARISONS = tuple(Comparison.model_fields)


@dataclass(frozen=True, slots=True)
class Observation:
    """What a state was at a node when it was read.

    `holds` is False too where it could not be read, and then `error` says why. `asked_ns` and `time_ns` are
    the monotonic times of the question and of the answer: the value was true at some moment between them.
    """

    value: Any
    holds: bool
    time_ns: int
    error: str | None = None
    asked_ns: int = 0

    def __str__(self) -> str:
        """The value, or why there is none."""
        return self.error or repr(self.value)


class Source(Protocol):
    """One state of one node, read as often as wanted; keeps its connection or place in a file meanwhile."""

    def read(self) -> Observation:
        """What it is now; never raises for a node that does not answer."""
        ...

    def close(self) -> None:
        """Give up connections and files."""
        ...


def open_source(cluster: Cluster, node: str, state: State, *, where: str) -> Source:
    """How this state is read at this node. Raises ClusterInputError for a template or pattern in error."""
    if state.http is not None:
        return _HttpState(cluster, node, state, state.http, where)
    if state.log is not None:
        return _LogState(cluster, node, state, state.log, where)
    if state.tcp is not None:
        return _TcpState(cluster, node, state, state.tcp)
    return _CommandState(cluster, node, state, where)


def compare(wanted: Comparison, value: Any) -> bool:
    """Whether a value is what a comparison asks for; with nothing asked, whether it is true."""
    if value is None:
        return False
    asked = False
    for name in _COMPARISONS:
        limit = getattr(wanted, name)
        if limit is None:
            continue
        asked = True
        if name == "equals" and value != limit:
            return False
        if name == "not_equals" and value == limit:
            return False
        if name == "matches" and not re.search(limit, str(value)):
            return False
        if name in ("at_least", "at_most"):
            number = as_number(value)
            if number is None or (number < limit if name == "at_least" else number > limit):
                return False
    return True if asked else bool(value)


def as_number(value: Any) -> float | None:
    """The value as a number; None where it is none."""
    with suppress(TypeError, ValueError):
        return float(value)
    return None


def value_at(data: Any, path: str) -> Any:
    """The part of a JSON document at a dotted path (`peers.0.role`; `.` is all of it). Raises LookupError."""
    for part in path.split(".") if path != "." else ():
        if not part:
            continue
        if isinstance(data, list):
            if not part.lstrip("-").isdigit():
                raise LookupError(f"{part!r} is not an index of a list")
            data = data[int(part)]
        elif isinstance(data, dict) and part in data:
            data = data[part]
        else:
            raise LookupError(f"there is no {part!r} in the answer")
    return data


class _HttpState:
    def __init__(self, cluster: Cluster, node: str, state: State, source: HttpSource, where: str) -> None:
        values = cluster.variables(node)
        self._state = state
        self._status = source.status
        self._probe = HttpProbe(
            cluster.address(node, source.port),
            source.method,
            render(source.path, values, where=where),
            {name: render(value, values, where=where) for name, value in source.headers.items()},
            source.body,
            READ_TIMEOUT_S,
        )
        self._sample = _metric_pattern(state.metric) if state.metric else None

    def read(self) -> Observation:
        asked = time.monotonic_ns()
        try:
            status, body = self._probe.ask()
            value = self._value(status, body)
        except (OSError, ValueError, LookupError) as error:
            return _unread(error, asked)
        return _seen(self._state, value, asked, default=self._status_holds(status))

    def close(self) -> None:
        self._probe.close()

    def _value(self, status: int, body: bytes) -> Any:
        if self._status is not None and status != self._status:
            raise ValueError(f"HTTP status {status} instead of {self._status}")
        if self._sample is not None:
            if (found := self._sample.search(body)) is None:
                raise LookupError(
                    f"there is no sample {self._state.metric!r} in the answer (status {status})"
                )
            return float(found["sample"])
        if self._state.value is None:
            return status
        try:
            return value_at(json.loads(body), self._state.value)
        except json.JSONDecodeError as error:
            raise ValueError(f"the answer (status {status}) is not JSON") from error

    def _status_holds(self, status: int) -> bool | None:
        # Without a value to look at, the state is the status: any 2xx.
        return 200 <= status < 300 if self._state.value is None and self._sample is None else None


class _LogState:
    def __init__(self, cluster: Cluster, node: str, state: State, pattern: str, where: str) -> None:
        self._cluster, self._node, self._state = cluster, node, state
        try:
            self._pattern = re.compile(pattern)
        except re.error as error:
            raise ClusterInputError(
                f"{pattern!r} is not a regular expression: {error}", where=where
            ) from error
        self._place = -1
        self._run_began = -1
        self._partial = b""
        self._value: Any = _ABSENT

    def read(self) -> Observation:
        asked = time.monotonic_ns()
        try:
            began = self._cluster.node(self._node).log_offset
            if began != self._run_began:  # the node was started again: what the earlier run said is over
                self._run_began = self._place = began
                self._partial, self._value = b"", _ABSENT
            with self._cluster.log_path(self._node).open("rb") as log:
                log.seek(self._place)
                fresh = log.read()
        except (OSError, ClusterError) as error:
            return _unread(error, asked)
        self._place += len(fresh)
        *lines, self._partial = (self._partial + fresh).split(b"\n")
        for line in lines:
            if found := self._pattern.search(line.decode(errors="replace")):
                self._value = found[1] if self._pattern.groups else found[0]
        if self._value is _ABSENT:
            return Observation(None, False, time.monotonic_ns(), "no such line in its log yet", asked)
        return _seen(self._state, self._value, asked, default=True)

    def close(self) -> None:
        pass


class _TcpState:
    def __init__(self, cluster: Cluster, node: str, state: State, port: str) -> None:
        host, _, number = cluster.address(node, port).rpartition(":")
        self._state, self._place = state, (host, int(number))

    def read(self) -> Observation:
        asked = time.monotonic_ns()
        try:
            with socket.create_connection(self._place, READ_TIMEOUT_S):
                return _seen(self._state, True, asked, default=True)
        except ConnectionRefusedError:  # an answer: nobody listens
            return _seen(self._state, False, asked, default=False)
        except OSError as error:
            return _unread(error, asked)

    def close(self) -> None:
        pass


class _CommandState:
    def __init__(self, cluster: Cluster, node: str, state: State, where: str) -> None:
        self._cluster, self._node, self._state = cluster, node, state
        self._argv = render_words(state.command or (), cluster.variables(node), where=where)

    def read(self) -> Observation:
        asked = time.monotonic_ns()
        try:
            result = self._cluster.run_words(self._argv, self._node, _COMMAND_TIMEOUT_S)
            if result.exit_code is None:
                raise TimeoutError(f"no answer from {self._argv[0]!r} in {_COMMAND_TIMEOUT_S:g} s")
            if self._state.value is None:
                return _seen(self._state, result.exit_code, asked, default=result.exit_code == 0)
            value = value_at(json.loads(result.output), self._state.value)
        except json.JSONDecodeError:
            said = (result.errors or result.output).strip()[:120]
            return _unread(
                ValueError(f"exit {result.exit_code}, and its output is not JSON: {said!r}"), asked
            )
        except (OSError, LookupError, ClusterInputError) as error:
            return _unread(error, asked)
        return _seen(self._state, value, asked)

    def close(self) -> None:
        pass


def _seen(state: State, value: Any, asked_ns: int, default: bool | None = None) -> Observation:
    # `default` is what holds where the plan compares with nothing and truth of the value is not meant.
    compares = any(getattr(state, name) is not None for name in _COMPARISONS)
    holds = default if default is not None and not compares else compare(state, value)
    return Observation(value, holds, time.monotonic_ns(), None, asked_ns)


def _unread(error: Exception, asked_ns: int) -> Observation:
    if isinstance(error, ConnectionRefusedError):
        words = "connection refused"
    elif isinstance(error, TimeoutError):
        words = str(error) if error.args and "answer" in str(error) else f"no answer in {READ_TIMEOUT_S:g} s"
    else:
        words = str(error) or type(error).__name__
    return Observation(None, False, time.monotonic_ns(), words, asked_ns)


def _metric_pattern(metric: str) -> re.Pattern[bytes]:
    # One sample of the Prometheus text format: its name, and those labels that the plan names, in any order.
    name, _, rest = metric.partition("{")
    labels = [label.strip() for label in rest.rstrip("} ").split(",") if label.strip()]
    ahead = "".join(rf"(?=[^}}\n]*{re.escape(label)})" for label in labels)
    inside = rf"\{{{ahead}[^}}\n]*\}}" if labels else r"(?:\{[^}\n]*\})?"
    return re.compile(rf"^{re.escape(name.strip())}{inside}[ \t]+(?P<sample>[^\s]+)".encode(), re.MULTILINE)
