"""Set-full: what became of each element of a set that is only added to, over all reads of it.

After the set-full checker of Jepsen (Kingsbury).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable
from dataclasses import dataclass, field

from refute.checkers.judgement import Judgement
from refute.checkers.kinds import NEVER, effect_end, ended, is_collection, kinds
from refute.checkers.observation import element_names, observations, write_name
from refute.checkers.result import Budget, Result
from refute.history import History, Operation, Outcome, hashable, recorded


@dataclass
class _Element:
    """One element: its adds, from when on it is known to be in, and the reads that (do not) show it."""

    adds: list[Operation]
    known_ns: int = NEVER
    known_by: Operation | None = None
    last_present: Operation | None = None
    last_absent: Operation | None = None


@dataclass
class _Object:
    """One set: its elements and its reads in order of invocation, each with the names that it shows."""

    elements: dict[Hashable, _Element] = field(default_factory=dict)
    reads: list[tuple[Operation, set[Hashable]]] = field(default_factory=list)


def check(
    history: History,
    *,
    budget: Budget,
    linearizable: bool = False,
    id_field: str | None = None,
    write_kinds: object = (),
    read_kinds: object = (),
) -> Result:
    """Whether every element that is known to be in the set stays in it.

    An element is known from the completion of a successful add of it, or of the first read that shows
    it. A read that began later and lacks it makes it `stale-read`, if another read shows it later
    still, and `lost` if none does. Stale reads are violations with `linearizable`, otherwise counted
    in `details`, as are elements that no read could have shown (`never-read`: they make the answer
    unknown). Further anomalies: `duplicated` (twice in one read), `phantom`, `aborted-read`.
    O(elements read + reads times elements known).
    """
    known = kinds(write_kinds, read_kinds)
    judgement = Judgement("set-full", "elements by the reads that lack them")
    objects: dict[Hashable, _Object] = defaultdict(_Object)
    used: list[Operation] = []
    _gather(judgement, history, known.accumulating, known.reading, id_field, objects, used)
    removed = [o for o in history.operations if o.kind in known.removing or o.kind in known.consuming]
    if removed:
        judgement.cannot("elements are also taken away: this checker is for sets that only grow")
        return judgement.result(used, nothing="the set does not only grow")
    if history.clock == "wall":
        judgement.cannot("wall clocks do not say which reads began after an element was known")
        return judgement.result(used, nothing="no order in time")
    counts = Counter[str]()
    for found in objects.values():
        _place(judgement, found)
        for name, element in found.elements.items():
            _judge(judgement, counts, name, element, found, linearizable)
    details = {"stale": counts["stale"], "never_read": counts["never-read"], "stable": counts["stable"]}
    nothing = "no element was known before a read began"
    return judgement.result(used, nothing=nothing, keys=len(objects), details=details)


def _gather(
    judgement: Judgement,
    history: History,
    adding: frozenset[str],
    reading: frozenset[str],
    id_field: str | None,
    objects: dict[Hashable, _Object],
    used: list[Operation],
) -> None:
    for operation in history.operations:
        if operation.kind in adding:
            used.append(operation)
            elements = objects[hashable(operation.key)].elements
            name = write_name(operation, False, id_field)
            elements.setdefault(name, _Element([])).adds.append(operation)
        elif operation.kind in reading and operation.outcome is Outcome.OK:
            used.append(operation)
            for seen in observations(operation):
                if is_collection(seen.value) or seen.value is None:
                    names = element_names(seen.value or (), id_field)
                    objects[hashable(seen.key)].reads.append((operation, set(names)))
                    if len(set(names)) < len(names):
                        name, copies = Counter(names).most_common(1)[0]
                        sentence = f"a read shows {recorded(name)!r} {copies} times"
                        judgement.found("duplicated", sentence, (operation,))
                else:
                    judgement.cannot("a read returned no collection")


def _place(judgement: Judgement, found: _Object) -> None:
    """Notes for each element when it is known, and the last reads that show and that lack it.

    Each read is compared with what is not settled yet, as whole sets.
    """
    checked: set[Hashable] = set()
    for read, names in found.reads:
        for name in names - checked:
            element = found.elements.get(name)
            adds = [] if element is None else element.adds
            if all(o.outcome is Outcome.FAIL for o in adds):
                kind = "phantom" if element is None else "aborted-read"
                words = "nobody added" if element is None else "only a failed add added"
                judgement.found(kind, f"a read shows {recorded(name)!r}, which {words}", (*adds, read))
        checked |= names
    settled: set[Hashable] = set()
    for read, names in reversed(found.reads):
        for name in names - settled:
            if name in found.elements:
                found.elements[name].last_present = read
        settled |= names
    settled = set()
    for read, names in sorted(found.reads, key=lambda item: ended(item[0])):
        for name in names - settled:
            if name in found.elements:
                found.elements[name].known_ns, found.elements[name].known_by = ended(read), read
        settled |= names
    for element in found.elements.values():
        for add in element.adds:
            if effect_end(add) < element.known_ns:
                element.known_ns, element.known_by = effect_end(add), add
    ordered = sorted(found.elements.items(), key=lambda item: item[1].known_ns)
    known: set[Hashable] = set()
    place = 0
    for read, names in found.reads:
        while place < len(ordered) and ordered[place][1].known_ns < read.invoked_ns:
            known.add(ordered[place][0])
            place += 1
        for name in known - names:
            found.elements[name].last_absent = read


def _judge(
    judgement: Judgement,
    counts: Counter[str],
    name: Hashable,
    element: _Element,
    found: _Object,
    linearizable: bool,
) -> None:
    if element.known_by is None or all(o.outcome is Outcome.FAIL for o in element.adds):
        return
    present, absent = element.last_present, element.last_absent
    if present is None and absent is None:
        counts["never-read"] += 1
        judgement.cannot("an acknowledged element was never looked for: no read began after it")
        return
    judgement.judged += 1
    if absent is None:
        counts["stable"] += 1
        return
    proof = {o.index: o for o in (*element.adds, element.known_by, absent)}
    if present is None or present.invoked_ns < absent.invoked_ns:
        sentence = f"{recorded(name)!r} was in the set, and no read from operation {absent.index} on shows it"
        judgement.found("lost", sentence, proof.values())
    else:
        counts["stale"] += 1
        if linearizable:
            proof[present.index] = present
            sentence = (
                f"{recorded(name)!r} was in the set, a later read lacks it, and a still later one shows it"
            )
            judgement.found("stale-read", sentence, proof.values())


def check_grow_only(
    history: History,
    *,
    budget: Budget,
    final: str = "phase",
    id_field: str | None = None,
    write_kinds: object = (),
    read_kinds: object = (),
) -> Result:
    """Whether a grow-only set converges: what was added is in all final reads, and nothing vanishes.

    Weaker than set-full: a replica may lag, but one session on one node never sees an element go, and
    the last final read of every node has every acknowledged element. Anomalies: `vanished`,
    `lost-write`, `phantom`, `aborted-read`. O(elements read).
    """
    from refute.checkers.durability import check as check_durability

    known = kinds(write_kinds, read_kinds)
    judgement = Judgement("g-set", "what each session saw before, and final reads")
    objects: dict[Hashable, _Object] = defaultdict(_Object)
    used: list[Operation] = []
    _gather(judgement, history, known.accumulating, known.reading, id_field, objects, used)
    if any(o.kind in known.removing or o.kind in known.consuming for o in history.operations):
        judgement.cannot("elements are also taken away: this checker is for sets that only grow")
    for key, found in objects.items():
        before: dict[tuple[Hashable, str | None], tuple[set[Hashable], Operation]] = {}
        checked: set[Hashable] = set()
        for read, names in found.reads:
            session = (read.process, read.node)
            seen, last = before.get(session, (set(), read))
            if read is not last and (last.completed_ns or 0) <= read.invoked_ns:
                for gone in sorted(seen - names, key=repr)[:1]:
                    sentence = f"process {read.process} saw {recorded(gone)!r} and then no more"
                    judgement.found("vanished", sentence, (last, read), key=key)
            before[session] = (names, read)
            for name in names - checked:
                adds = found.elements[name].adds if name in found.elements else []
                if all(o.outcome is Outcome.FAIL for o in adds):
                    kind, who = ("aborted-read", "a failed add") if adds else ("phantom", "nobody")
                    sentence = f"a read shows {recorded(name)!r}, which {who} added"
                    judgement.found(kind, sentence, (*adds, read))
            checked |= names
    durable = check_durability(
        history,
        budget=budget,
        final=final,
        id_field=id_field,
        write_kinds=write_kinds,
        read_kinds=read_kinds,
    )
    for anomaly in durable.anomalies:
        judgement.found(anomaly.name, anomaly.sentence, anomaly.operations, **anomaly.details)
    if durable.valid == "unknown":
        judgement.cannot(durable.reason)
    judgement.judged += durable.valid is True
    return judgement.result(used, nothing="no acknowledged element and final read", keys=len(objects))
