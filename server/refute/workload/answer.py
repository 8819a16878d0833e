"""Reads the answer of an HTTP service: which outcome its status and body mean, and what its output is."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from refute.history.operation import Outcome
from refute.plan.system_spec import HttpOperation
from refute.workload.error import WorkloadError
from refute.workload.request import Completion, short

Meaning = Literal["ok", "fail", "unknown", "absent", "redirect"]
_MEANINGS: tuple[Meaning, ...] = ("ok", "fail", "unknown", "absent", "redirect")
_MISSING: Any = object()


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP answer; names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Redirect:
    """The answer says that another node must be asked: a URL, `host:port` or the name of a node."""

    target: str | None


def look_up(path: str, data: Any, default: Any = None) -> Any:
    """The value at a dotted path (`kvs.0.value`; `.` is all of it), or `default` where there is none.

    >>> look_up("kvs.0.value", {"kvs": [{"value": "NQ=="}]})
    'NQ=='
    """
    if path in (".", ""):
        return data
    for step in path.split("."):
        if isinstance(data, Mapping):
            if step not in data:
                return default
            data = data[step]
        elif isinstance(data, list | tuple):
            try:
                data = data[int(step)]
            except (ValueError, IndexError):
                return default
        else:
            return default
    return data


@dataclass(frozen=True)
class AnswerReader:
    """How the answers to one kind of operation are read; built once, from its description in the plan."""

    operation: HttpOperation
    where: str
    _exact: dict[int, Meaning] = field(default_factory=dict)
    _classes: dict[int, Meaning] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for meaning in _MEANINGS:
            written: tuple[int | str, ...] = getattr(self.operation, meaning)
            for status in written:
                self._add(status, meaning)

    def _add(self, status: int | str, meaning: Meaning) -> None:
        known, number = self._exact, str(status)
        if len(number) == 3 and number[0] in "12345" and number[1:].lower() == "xx":
            known, number = self._classes, number[0]
        if not number.isdigit() or (known is self._exact and not 100 <= int(number) <= 599):
            raise WorkloadError(
                f"{status!r} is not an HTTP status", where=self.where, hint="write 404, or 4xx"
            )
        other = known.setdefault(int(number), meaning)
        if other != meaning:
            raise WorkloadError(f"status {status} means both {other} and {meaning}", where=self.where)

    def meaning(self, status: int) -> Meaning:
        """What a status means: `404` goes before `4xx`; a status that is not listed is unknown."""
        return self._exact.get(status) or self._classes.get(status // 100) or "unknown"

    def read(self, answer: Answer) -> Completion | Redirect:
        """The completion that an answer stands for, or where it sends the client instead.

        `unknown_when` and `fail_when` look into the body of an answer with any status, since services
        put their reasons there; a condition that a value be null is looked at only where the status is
        ok, because an error page lacks every field. An ok answer whose body had to be looked into
        and is not JSON is unknown. A value that cannot be decoded is passed on as it came: what a
        store hands back in place of what was written must not disappear.
        """
        meaning = self.meaning(answer.status)
        data = self._body(answer)
        if self._matches(self.operation.unknown_when, data, meaning):
            return self._failure(Outcome.INFO, answer)
        if self._matches(self.operation.fail_when, data, meaning):
            return self._failure(Outcome.FAIL, answer)
        if meaning == "redirect":
            return Redirect(self._target(answer, data))
        extra = {name: self._part(path, answer, data) for name, path in self.operation.extra.items()}
        if meaning == "absent":
            return Completion(Outcome.OK, None, extra=extra)
        if meaning == "fail":
            return self._failure(Outcome.FAIL, answer, extra)
        if meaning == "unknown":
            return self._failure(Outcome.INFO, answer, extra)
        if data is _MISSING and self._looks_inside():
            return Completion(Outcome.INFO, error=short(f"HTTP {answer.status} with a body that is not JSON"))
        return Completion(Outcome.OK, self._output(answer, data), extra=extra)

    def _looks_inside(self) -> bool:
        described = self.operation
        reads_json = described.output is not None and described.decode != "text"
        return bool(reads_json or described.fail_when or described.unknown_when)

    def _body(self, answer: Answer) -> Any:
        if not answer.body:
            return _MISSING
        try:
            return json.loads(answer.body)
        except (ValueError, RecursionError):
            return _MISSING

    def _matches(self, conditions: Mapping[str, Any], data: Any, meaning: Meaning) -> bool:
        if data is _MISSING:
            return False
        for path, wanted in conditions.items():
            found = look_up(path, data)
            accepted = wanted if isinstance(wanted, list | tuple) else (wanted,)
            if found is None and meaning != "ok":
                continue
            if any(type(found) is type(value) and found == value for value in accepted):
                return True
        return False

    def _failure(
        self, outcome: Outcome, answer: Answer, extra: Mapping[str, Any] | None = None
    ) -> Completion:
        body = answer.body[:1000].decode("utf-8", "replace")
        return Completion(outcome, error=short(f"HTTP {answer.status} {body}".rstrip()), extra=extra or {})

    def _target(self, answer: Answer, data: Any) -> str | None:
        named = None
        if self.operation.leader_at is not None:
            named = self._part(self.operation.leader_at, answer, data)
        target = named if named is not None else answer.headers.get("location")
        return None if target is None else str(target)

    def _part(self, path: str, answer: Answer, data: Any) -> Any:
        if path.startswith("header:"):
            return answer.headers.get(path.removeprefix("header:").strip().lower())
        return None if data is _MISSING else look_up(path, data)

    def _output(self, answer: Answer, data: Any) -> Any:
        described = self.operation
        if described.decode == "text":
            return answer.body.decode("utf-8", "replace") if described.output is not None else None
        if described.output is None:
            return None
        if isinstance(described.output, str):
            return self._decoded(self._part(described.output, answer, data))
        return {
            name: self._decoded(self._part(path, answer, data)) for name, path in described.output.items()
        }

    def _decoded(self, value: Any) -> Any:
        decode = self.operation.decode
        if decode == "json" or not isinstance(value, str):
            return value
        try:
            plain = base64.b64decode(value, validate=True) if decode.startswith("base64") else value.encode()
            return plain.decode() if decode == "base64" else json.loads(plain)
        except (binascii.Error, ValueError, RecursionError):
            return value
