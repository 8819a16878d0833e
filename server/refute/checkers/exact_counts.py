"""How often the effect of each request may be there, and whether what was read agrees."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from refute.checkers.durability_question import Answers
from refute.checkers.kinds import effect_end, is_collection
from refute.checkers.observation import Observation, element_name, write_name
from refute.history import Operation, Outcome, hashable, recorded

MAX_SUM = 4_000_000
"""Up to this sum of unknown amounts every reachable sum is enumerated, as one bit each."""


@dataclass(frozen=True, eq=False)
class Request:
    """All attempts that share a business key."""

    name: Hashable
    attempts: list[Operation]

    def bounds(self, at_ns: int) -> tuple[int, int]:
        """How often its effect may be there for a read that began at `at_ns`: least and most."""
        if any(effect_end(attempt) < at_ns for attempt in self.attempts):
            return 1, 1
        return 0, int(any(attempt.outcome is not Outcome.FAIL for attempt in self.attempts))


def requests(writes: list[Operation], *, by_key: bool) -> list[Request]:
    """Attempts grouped by idempotency key, else (`by_key`) by key, else each alone."""
    grouped: dict[Hashable, list[Operation]] = defaultdict(list)
    for write in writes:
        if "idempotency_key" in write.extra:
            name: Hashable = hashable(write.extra["idempotency_key"])
        elif by_key and write.key is not None:
            name = hashable(write.key)
        else:
            name = ("operation", write.index)
        grouped[name].append(write)
    return [Request(name, attempts) for name, attempts in grouped.items()]


def judge_elements(
    found: list[Request], observation: Observation, where: str, id_field: str | None, answers: Answers
) -> None:
    """Counts each element of a collection against the requests that add it."""
    elements = observation.value if is_collection(observation.value) else ()
    rows = any(isinstance(element, dict) for element in elements)
    held = Counter(element_name(element, id_field) for element in elements)
    least: Counter[Hashable] = Counter()
    most: Counter[Hashable] = Counter()
    makers: dict[Hashable, list[Operation]] = defaultdict(list)
    for request in found:
        name = write_name(request.attempts[0], rows, id_field)
        low, high = request.bounds(observation.operation.invoked_ns)
        least[name] += low
        most[name] += high
        makers[name] += request.attempts
    for name in (*makers, *(name for name in held if name not in makers)):
        count, proof = held[name], (*makers.get(name, ()), observation.operation)
        if count < least[name]:
            sentence = f"{where} has {recorded(name)!r} {count} times, acknowledged were {least[name]}"
            answers.anomaly("missing-effect", sentence, proof)
        elif count > most[name]:
            if most[name]:
                sentence = f"{where} has {recorded(name)!r} {count} times, asked for {most[name]} times"
                answers.anomaly("duplicate-effect", sentence, proof)
            elif name in makers:
                sentence = f"{where} has {recorded(name)!r}, whose every attempt is said to have failed"
                answers.anomaly("effect-of-failed", sentence, proof)
            else:
                answers.anomaly("phantom", f"{where} has {recorded(name)!r}, which nobody wrote", proof)


def judge_sum(
    found: list[Request], read: Operation, value: Any, initial: Any, where: str, answers: Answers
) -> None:
    """Whether the value is the sum of the certain amounts and of some choice of the possible ones."""
    certain, possible = 0, []
    proof: list[Operation] = []
    for request in found:
        amounts = {1 if attempt.input is None else attempt.input for attempt in request.attempts}
        if len(amounts) > 1:
            answers.unjudged["attempts with one business key ask for different amounts"] += 1
            return
        (amount,) = amounts
        low, high = request.bounds(read.invoked_ns)
        if low:
            certain += amount
        elif high:
            possible.append(amount)
        if high:
            proof += request.attempts
    wanted = value - initial - certain
    least = sum(amount for amount in possible if amount < 0)
    most = sum(amount for amount in possible if amount > 0)
    expected = f"{initial + certain + least!r}"
    if least != most:
        expected += f" to {initial + certain + most!r}"
    sentence = f"{where} returned {value!r}; with each request counted once it is {expected}"
    if wanted > most:
        name = "duplicate-effect" if not _any_negative(found) else "inexact-effect"
        answers.anomaly(name, sentence, (*proof, read), expected=expected)
    elif wanted < least:
        name = "missing-effect" if not _any_negative(found) else "inexact-effect"
        answers.anomaly(name, sentence, (*proof, read), expected=expected)
    elif not _reachable(possible, wanted, least, most, answers):
        sentence += f", but no choice of the {len(possible)} unknown requests adds up to it"
        answers.anomaly("inexact-effect", sentence, (*proof, read), expected=expected)


def _any_negative(found: list[Request]) -> bool:
    return any((attempt.input or 0) < 0 for request in found for attempt in request.attempts)


def _reachable(possible: list[Any], wanted: Any, least: Any, most: Any, answers: Answers) -> bool:
    if not all(isinstance(amount, int) for amount in (*possible, wanted)) or most - least > MAX_SUM:
        note = "sums of unknown amounts were held against their bounds only"
        if note not in answers.assumptions:
            answers.assumptions.append(note)
        return True
    sums = 1 << -least
    for amount in possible:
        sums |= sums << amount if amount >= 0 else sums >> -amount
    return bool(sums >> (wanted - least) & 1)
