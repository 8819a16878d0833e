"""Boundary: the denied fails, the allowed works, and nothing of one tenant reaches another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from refute.checkers.judgement import Judgement
from refute.checkers.kinds import ACCUMULATING, REPLACING
from refute.checkers.result import Budget, Result
from refute.history import History, Operation, Outcome

DENIALS = ("401", "403", "404", "denied", "forbidden", "unauthor", "permission", "not allowed", "not found")
"""What the error of a refused request contains, in any case; other errors say that something broke."""

MARKER_LENGTH = 8
"""A text that one tenant wrote counts as its marker from this length on."""


def check(
    history: History,
    *,
    budget: Budget,
    surfaces: Iterable[str] = (),
    denials: Iterable[str] = DENIALS,
    marker_length: int = MARKER_LENGTH,
) -> Result:
    """Whether tenants are kept apart on every surface, with controls that show that the test can tell.

    Operations carry `extra.tenant` (who asks), `extra.surface`, and where it is known beforehand
    `extra.expect`: `allow` (a positive control: it must succeed) or `deny` (a negative control: it
    must not). A denied read that succeeds with an empty answer counts as denied: that is how a list
    hides what is not one's own. A failure is a denial where it has no error text or one that contains
    one of `denials`; other failures are outages, which neither break a rule nor are a control.

    Any answer or error text that contains another tenant's marker is a leak, on side surfaces
    (listings, errors, metrics, exports) as well. Markers are `extra.marker`, and texts of at least
    `marker_length` characters that only one tenant wrote. An operation that expects to be allowed to
    see `extra.owner`'s data leaks nothing of that tenant.

    Without a positive control that succeeded and a negative control that was answered, on each of
    `surfaces` (by default each surface with controls), the run proves nothing: unknown. Anomalies:
    `allowed-although-denied`, `denied-although-allowed`, `leak`. O(text returned times marker lengths).
    """
    judgement = Judgement("boundary", "controls by surface, markers in all that was returned")
    used = [o for o in history.operations if "tenant" in o.extra or "expect" in o.extra]
    judgement.ignored["operations without extra.tenant or extra.expect"] = len(history.operations) - len(used)
    positive: dict[str, int] = defaultdict(int)
    negative: dict[str, int] = defaultdict(int)
    words = tuple(word.lower() for word in denials)
    for operation in used:
        expect = operation.extra.get("expect")
        if expect not in ("allow", "deny"):
            continue
        surface = str(operation.extra.get("surface", ""))
        positive[surface] += 0
        if operation.outcome is Outcome.INFO or _is_outage(operation, words):
            judgement.ignored["controls without an answer: unknown outcomes and outages"] += 1
            continue
        judgement.judged += 1
        if expect == "allow":
            _judge_allowed(judgement, operation, surface, positive)
        else:
            negative[surface] += 1
            _judge_denied(judgement, operation, surface)
    markers = markers_of(used, marker_length)
    searched = _judge_leaks(judgement, history.operations, markers)
    for surface in sorted({*positive, *map(str, surfaces)}):
        name = f"surface {surface}" if surface else "the run"
        if not positive[surface]:
            judgement.cannot(f"{name} has no positive control that succeeded")
        if not negative[surface]:
            judgement.cannot(f"{name} has no negative control that was answered")
    details = {
        "positive_controls": dict(positive),
        "negative_controls": dict(negative),
        "markers": len(markers),
        "answers_searched": searched,
    }
    if not positive and not negative:
        judgement.judged = 0
    judgement.assumptions.append("a denied read that succeeds with an empty answer was denied")
    nothing = "no operation says what it expects: extra.expect"
    return judgement.result(used, nothing=nothing, keys=len(positive), details=details)


def _is_outage(operation: Operation, denials: tuple[str, ...]) -> bool:
    if operation.outcome is not Outcome.FAIL or operation.error is None:
        return False
    return not any(word in operation.error.lower() for word in denials)


def _judge_allowed(
    judgement: Judgement, operation: Operation, surface: str, positive: dict[str, int]
) -> None:
    if operation.outcome is Outcome.OK and (_writes(operation) or not _is_empty(operation.output)):
        positive[surface] += 1
    elif operation.outcome is Outcome.FAIL:
        sentence = f"{_who(operation)} was denied a {operation.kind}{_on(surface)} that it is allowed"
        judgement.found("denied-although-allowed", sentence, (operation,), surface=surface)


def _judge_denied(judgement: Judgement, operation: Operation, surface: str) -> None:
    if operation.outcome is Outcome.OK and (_writes(operation) or not _is_empty(operation.output)):
        sentence = f"{_who(operation)} was allowed a {operation.kind}{_on(surface)} that it must be denied"
        judgement.found("allowed-although-denied", sentence, (operation,), surface=surface)


def _writes(operation: Operation) -> bool:
    return operation.kind in REPLACING or operation.kind in ACCUMULATING or operation.kind == "remove"


def _is_empty(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(_is_empty(item) for item in value.values())
    if isinstance(value, list | tuple | set | frozenset):
        return all(_is_empty(item) for item in value)
    return value is None or value == "" or value is False


def _who(operation: Operation) -> str:
    subject = operation.extra.get("subject")
    tenant = f"tenant {operation.extra.get('tenant', '?')}"
    return tenant if subject is None else f"{subject} of {tenant}"


def _on(surface: str) -> str:
    return f" on {surface}" if surface else ""


def texts(value: Any) -> Iterator[str]:
    """Every text in a value, keys of maps included, and numbers as texts."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from texts(key)
            yield from texts(item)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from texts(item)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def markers_of(used: list[Operation], marker_length: int) -> dict[str, tuple[str, Operation]]:
    """Texts that belong to one tenant alone, with the operation that introduced them."""
    owners: dict[str, set[str]] = defaultdict(set)
    first: dict[str, Operation] = {}
    for operation in used:
        if "tenant" not in operation.extra or operation.extra.get("expect") == "deny":
            continue
        owner = str(operation.extra.get("owner", operation.extra["tenant"]))
        found = [str(operation.extra["marker"])] if "marker" in operation.extra else []
        if _writes(operation):
            found += [text for text in texts(operation.input) if len(text) >= marker_length]
        for text in found:
            owners[text].add(owner)
            first.setdefault(text, operation)
    return {text: (next(iter(who)), first[text]) for text, who in owners.items() if len(who) == 1 and text}


def _judge_leaks(
    judgement: Judgement, operations: Iterable[Operation], markers: Mapping[str, tuple[str, Operation]]
) -> int:
    lengths = sorted({len(marker) for marker in markers})
    searched = 0
    for operation in operations:
        if "tenant" not in operation.extra:
            continue
        tenant = str(operation.extra["tenant"])
        searched += 1
        allowed = str(operation.extra.get("owner")) if operation.extra.get("expect") == "allow" else None
        own = set(texts(operation.input))
        for text in (*texts(operation.output), *texts(operation.error)):
            for marker in _contained(text, lengths, markers):
                owner, origin = markers[marker]
                if owner in (tenant, allowed) or marker in own:
                    continue
                surface = str(operation.extra.get("surface", ""))
                where = "an error" if operation.error and marker in operation.error else "an answer"
                sentence = f"{where} to {_who(operation)}{_on(surface)} contains {marker!r} of tenant {owner}"
                judgement.found("leak", sentence, (origin, operation), surface=surface, owner=owner)
                break
            else:
                continue
            break
    return searched


def _contained(text: str, lengths: list[int], markers: Mapping[str, Any]) -> Iterator[str]:
    for length in lengths:
        for start in range(len(text) - length + 1):
            piece = text[start : start + length]
            if piece in markers:
                yield piece
