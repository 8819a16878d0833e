"""The built-in client for services that speak HTTP and JSON, driven by the plan's description alone."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote, urlencode, urlsplit
from uuid import uuid4

from refute.history.operation import Outcome
from refute.nemesis.client.rules import ClientRules
from refute.plan.system_spec import HttpClient, HttpOperation
from refute.workload.again import SentRequest, send_copy
from refute.workload.answer import Answer, AnswerReader, Redirect
from refute.workload.error import WorkloadError
from refute.workload.http_connection import HttpConnection, NotSentError, UnansweredError
from refute.workload.request import Completion, Endpoints, Request, short
from refute.workload.template import Render, compile_text, compile_tree, text

ROOTS = frozenset({"kind", "key", "value", "input", "extra", "node", "process", "unique"})
_PATH_SAFE = "/?&=%:@!$'()*+,;~-._"  # what a plan writes itself is left as it is, blanks and the like apart


@dataclass(frozen=True, slots=True)
class _Described:
    """One kind of operation, its templates compiled."""

    method: str
    path: Render
    query: Mapping[str, Render]
    headers: Mapping[str, Render]
    body: Render | None
    reader: AnswerReader


class HttpOperationClient:
    """Sends operations to nodes over persistent connections, one for each node.

    Refused before anything was sent is a `fail`; a timeout, a connection that broke after sending,
    or an answer that is none is `info`, for reads too. Only ports of the given endpoints are ever
    connected to: a redirect is followed once, to the node that it names, wherever that node may
    advertise itself.
    """

    def __init__(
        self,
        client: HttpClient,
        endpoints: Endpoints,
        *,
        where: str = "http client",
        rules: ClientRules | None = None,
    ) -> None:
        for node, ports in endpoints.items():
            if client.port not in ports:
                raise WorkloadError(
                    f"{node} has no port {client.port!r}", where=where, hint=f"it has: {', '.join(ports)}"
                )
        self._endpoints = endpoints
        self._port = client.port
        self._where = where
        self._salt = uuid4().hex[:12]
        self._count = 0
        self._rules = rules or ClientRules()
        self._last: SentRequest | None = None
        self._connections: dict[str, HttpConnection] = {}
        self._operations = {
            kind: _describe(operation, client.headers, f"{where}: {kind}")
            for kind, operation in client.operations.items()
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes all connections."""
        for connection in self._connections.values():
            connection.close()

    def invoke(
        self,
        request: Request,
        node: str,
        timeout_s: float,
        *,
        process: int | str = 0,
        identity: int | None = None,  # noqa: ARG002 - workers are told, services are not
    ) -> Completion:
        """See `OperationClient.invoke`."""
        described = self._operations.get(request.kind)
        if described is None:
            known = ", ".join(self._operations)
            raise WorkloadError(
                f"the client knows no operation {request.kind!r}", where=self._where, hint=f"it has: {known}"
            )
        self._count += 1
        values = {
            "kind": request.kind,
            "key": request.key,
            "value": request.input,
            "input": request.input,
            "extra": request.extra,
            "node": node,
            "process": process,
            "unique": f"{self._salt}-{self._count}",
        }
        with self._rules.in_turn(request.kind, request.key, node) as turn:
            completion = self._try(described, values, node, timeout_s)
            turn.answered = completion.outcome is not Outcome.INFO and not completion.not_reached
        if turn.overtaken:
            completion = replace(completion, extra={**completion.extra, "overtaken": 1})
        completion = self._retried(completion, described, values, node, timeout_s)
        rule = self._rules.rule("duplicate", request.kind)
        if rule is None or self._last is None or completion.outcome is Outcome.FAIL:
            return completion
        # Only what may have happened is sent again: a copy of what was refused would be a new request.
        send_copy(self._rules, rule, self._last, timeout_s)
        return replace(completion, extra={**completion.extra, "sent_again": 1})

    def _retried(
        self,
        completion: Completion,
        described: _Described,
        values: Mapping[str, Any],
        node: str,
        timeout_s: float,
    ) -> Completion:
        """The same request again while its outcome is unknown, where a fault asks for it.

        A refusal of a later attempt says nothing of an earlier one, so that the outcome stays unknown.
        """
        if completion.outcome is not Outcome.INFO or not (rule := self._rules.rule("retry", values["kind"])):
            return completion
        sent = 0
        for _ in range(rule.times):
            again = self._try(described, values, node, timeout_s)
            if again.not_reached:
                continue
            sent += 1
            self._rules.count(rule.fault, node, "sent")
            if again.outcome is not Outcome.INFO:
                self._rules.count(rule.fault, node, "answered")
            if again.outcome is Outcome.OK:
                completion = again
                break
        return replace(completion, extra={**completion.extra, "sent_again": sent})

    def _try(
        self, described: _Described, values: Mapping[str, Any], node: str, timeout_s: float
    ) -> Completion:
        deadline = time.monotonic() + timeout_s
        self._last = None
        try:
            read = described.reader.read(self._ask(described, values, node, deadline))
            if not isinstance(read, Redirect):
                return read
            other = self._node_at(read.target)
            if other is None:
                return Completion(Outcome.FAIL, error=short(f"sent on to {read.target}, which is no node"))
            again = described.reader.read(self._ask(described, values, other, deadline))
        except NotSentError as error:
            return Completion(Outcome.FAIL, error=short(str(error)), not_reached=True)
        except UnansweredError as error:
            return Completion(Outcome.INFO, error=short(str(error)))
        if isinstance(again, Redirect):
            return Completion(Outcome.FAIL, error=short(f"sent on twice: to {other}, then to {again.target}"))
        return Completion(again.outcome, again.output, again.error, {**again.extra, "redirected_to": other})

    def _ask(self, described: _Described, values: Mapping[str, Any], node: str, deadline: float) -> Answer:
        host, port = self._address(node)
        connection = self._connections.get(node)
        if connection is None:
            connection = self._connections[node] = HttpConnection(host, port)
        message = _message(described, values, f"{host}:{port}", self._where)
        self._last = SentRequest(node, (host, port), described.method, message)
        return connection.exchange(message, described.method, deadline)

    def _address(self, node: str) -> tuple[str, int]:
        if node not in self._endpoints:
            known = ", ".join(self._endpoints)
            raise WorkloadError(f"there is no node {node!r}", where=self._where, hint=f"there are: {known}")
        return self._endpoints[node][self._port]

    def _node_at(self, target: str | None) -> str | None:
        """The node that a redirect names: by its name, by an address of it, or by a host of its name."""
        if not target:
            return None
        if target in self._endpoints:
            return target
        try:
            parts = urlsplit(target if "//" in target else f"//{target}")
            host, port = parts.hostname, parts.port
        except ValueError:
            return None
        for node, ports in self._endpoints.items():
            if any(port == own and (host == at or _loopback(host)) for at, own in ports.values()):
                return node
        return host if host in self._endpoints else None


def _loopback(host: str | None) -> bool:
    return host in ("localhost", "::1") or (host or "").startswith("127.")


def _describe(operation: HttpOperation, headers: Mapping[str, str], where: str) -> _Described:
    merged = {**headers, **operation.headers}
    return _Described(
        operation.method.upper(),
        compile_text(operation.path, ROOTS, where=f"{where}: path", quoted=True),
        {
            name: compile_tree(value, ROOTS, where=f"{where}: query.{name}")
            for name, value in operation.query.items()
        },
        {
            name: compile_text(value, ROOTS, where=f"{where}: headers.{name}")
            for name, value in merged.items()
        },
        None if operation.body is None else compile_tree(operation.body, ROOTS, where=f"{where}: body"),
        AnswerReader(operation, where),
    )


def _message(described: _Described, values: Mapping[str, Any], host: str, where: str) -> bytes:
    path = quote(text(described.path(values)), safe=_PATH_SAFE)
    if not path.startswith("/"):
        raise WorkloadError(f"the path {path!r} does not start with /", where=where)
    query = {name: value for name, render in described.query.items() if (value := render(values)) is not None}
    if query:
        path += ("&" if "?" in path else "?") + urlencode(
            {
                name: [text(item) for item in value] if isinstance(value, list) else text(value)
                for name, value in query.items()
            },
            doseq=True,
        )
    headers = {"host": host, "accept": "application/json"}
    body = b""
    if described.body is not None:
        content = described.body(values)
        if isinstance(content, str):
            body, headers["content-type"] = content.encode(), "text/plain; charset=utf-8"
        else:
            body = json.dumps(content, separators=(",", ":")).encode()
            headers["content-type"] = "application/json"
    if body or described.method not in ("GET", "HEAD", "DELETE"):
        headers["content-length"] = str(len(body))
    for name, render in described.headers.items():
        value = render(values)
        if value is not None:
            headers[name.lower()] = text(value)
    lines = [f"{described.method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    if any("\r" in line or "\n" in line for line in lines):
        raise WorkloadError("a header or path holds a line break", where=where)
    return "\r\n".join([*lines, "", ""]).encode("utf-8") + body
