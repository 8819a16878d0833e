"""Driving a live system step by step: start and look at it, do a fault to it, undo faults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from refute.errors import RefuteError
from refute.run.fault_evidence import fault_evidence
from refute.run.live_client import WITHIN_S, ask, start_live
from refute.run.live_healing import HealedFromLedger, heal_live, heal_machine
from refute.run.live_record import LiveInputError, LiveRecord, record_of, records
from refute.session.files import plain
from refute.tools.live_answers import (
    HealAnswer,
    HealedSystem,
    HealFaults,
    InjectAnswer,
    InjectFault,
    LiveAnswer,
    ManageSystem,
    SystemNow,
)

_MOST_COMMAND_S = 30.0
_MOST_SYSTEMS = 50


def manage_system(request: ManageSystem) -> LiveAnswer:
    """Start a live system, look at it, send it operations, wait for a state, restart a node, stop it.

    Every call ends within 45 s: what takes longer goes on and is `pending`. Raises InputError for what cannot
    be meant, UnavailableError where the system or its host is gone.
    """
    if request.action == "list":
        known = records()
        return LiveAnswer(
            systems=[_now(record) for record in known[:_MOST_SYSTEMS]],
            left_out=max(0, len(known) - _MOST_SYSTEMS),
            next="" if known else "start one: action start with a plan",
        )
    if request.action == "start":
        return _start(request)
    record = record_of(request.id)
    if request.action == "status" and not record.alive:
        return _over(record)
    if request.action == "stop" and not record.alive:
        healed = heal_live(record, "all") if record.state == "crashed" else None
        left = healed.left if isinstance(healed, HealedFromLedger) else {}
        return _over(record_of(record.id), f"not undone: {left}" if left else "")
    do, words = _words(request)
    return _live_answer(ask(record, do, **words))


def inject_fault(request: InjectFault) -> InjectAnswer:
    """Do one fault to a live system, at whom the reference stands for now; it is on when this returns.

    Raises InputError for what is no fault of this system, UnavailableError where it cannot be done now;
    then nothing of it is left on.
    """
    record = record_of(request.id)
    found = ask(record, "inject", written=request.fault, ttl_s=request.ttl_s)
    return InjectAnswer(
        system=_now(LiveRecord.model_validate(found.pop("about"))),
        next="manage_system status has the evidence so far; heal_faults undoes it",
        **found,
    )


def heal_faults(request: HealFaults) -> HealAnswer:
    """Undo faults and look at what is left; where a live system's host has crashed, from its ledger.

    Safe at any time and any number of times. Raises InputError for what is no fault, label or node.
    """
    if request.everywhere:
        if request.id is not None or request.what != "all":
            raise LiveInputError("everywhere means all faults of all systems", hint="leave id and what out")
        healed, report = heal_machine()
        parts = [_healed(record_of(identity), each) for identity, each in healed.items()]
        return HealAnswer(
            clean=report.clean and all(_is_clean(part) for part in parts),
            systems=parts,
            healed=report.healed,
            failed=report.failed,
            ended_processes=report.ended,
            untouched=report.untouched,
        )
    record = _to_heal(request.id)
    part = _healed(record, heal_live(record, request.what))
    clean = _is_clean(part)
    return HealAnswer(
        clean=clean, systems=[part], next="" if clean else "heal_faults again, or see what is still on"
    )


def _start(request: ManageSystem) -> LiveAnswer:
    if request.plan is None:
        raise LiveInputError("start needs plan, the file that describes the system in its section 6b")
    record = start_live(
        Path(request.plan),
        request.system,
        variables=request.variables,
        planes=request.planes,
        file_system=request.file_system,
        through=request.through,
        session_root=Path(request.session_root),
        idle_s=request.idle_minutes * 60,
    )
    try:
        return _live_answer(ask(record, "ready", within_s=WITHIN_S - 10))
    except RefuteError:
        if (ended := record_of(record.id)).alive:
            raise
        return _over(ended)


def _words(request: ManageSystem) -> tuple[str, dict[str, Any]]:
    """The request as the host takes it. Raises LiveInputError where the action lacks what it needs."""

    def needed(name: str) -> Any:
        if not (value := getattr(request, name)):
            raise LiveInputError(f"{request.action} needs {name}")
        return value

    match request.action:
        case "operation":
            return "operation", {"written": list(needed("operations"))}
        case "await":
            return "await", {"condition": needed("condition")}
        case "run":
            words = {"command": needed("command"), "node": request.node, "arguments": list(request.arguments)}
            return "run", {**words, "timeout_s": _MOST_COMMAND_S}
        case "restart":
            return "restart", {"reference": needed("node"), "version": request.version}
        case "logs":
            return "logs", {"reference": needed("node"), "lines": request.lines}
        case action:
            return action, {}


def _live_answer(found: dict[str, Any]) -> LiveAnswer:
    record = LiveRecord.model_validate(found.pop("about"))
    return LiveAnswer(system=_now(record), next=_next(record, found), **found)


def _next(record: LiveRecord, found: dict[str, Any]) -> str:
    if found.get("pending"):
        return f"it goes on as {found['pending']}; ask status"
    if record.state == "starting":
        return "it is still starting; ask status"
    if not record.alive:
        return f"refute check {record.folder}/history.jsonl --model M judges what was recorded"
    return ""


def _over(record: LiveRecord, trouble: str = "") -> LiveAnswer:
    """What is left of a system that does not live any more, read from its folder."""
    if record.state == "crashed":
        following = "heal_faults verifies that nothing of it is left on"
    else:
        following = f"the records are in {record.folder}"
    faults = plain(fault_evidence(Path(record.folder)))
    return LiveAnswer(system=_now(record), faults=faults, reason=trouble, next=following)


def _now(record: LiveRecord) -> SystemNow:
    return SystemNow(
        id=record.id,
        system=record.system,
        state=record.state,
        began=record.began,
        ended=record.ended,
        why=record.why or ("its host ended without a word" if record.state == "crashed" else ""),
        folder=record.folder,
        plan=record.plan,
        host_pid=record.host[0],
    )


def _to_heal(identity: str | None) -> LiveRecord:
    """The system that is meant; one that crashed counts too, it may have left something on."""
    if identity is not None:
        return record_of(identity)
    candidates = [record for record in records() if record.state in ("starting", "ready", "crashed")]
    if len(candidates) != 1:
        names = ", ".join(record.id for record in candidates) or "there is none"
        raise LiveInputError(f"say which live system is meant: {names}", hint="or heal everywhere")
    return candidates[0]


def _healed(record: LiveRecord, found: dict[str, Any] | HealedFromLedger) -> HealedSystem:
    system = _now(record_of(record.id))
    if isinstance(found, HealedFromLedger):
        return HealedSystem(
            system=system,
            by="its ledger",
            healed=[fault["fault"] for fault in found.faults if not fault["on"]],
            failed=found.left,
            still_on=[fault["fault"] for fault in found.faults if fault["on"]],
            verified=found.verified,
            ended_processes=found.report.ended,
            faults=found.faults,
        )
    if found.get("pending"):
        return HealedSystem(system=system, by="its host", pending=found["pending"])
    verified = [f"{name}: its mechanism was asked again, nothing of it is left" for name in found["healed"]]
    verified += [
        f"{node['node']} runs as pid {node['pid']}, {'paused' if node['paused'] else 'not paused'}"
        for node in found["nodes"]
        if node["running"]
    ]
    return HealedSystem(
        system=system,
        by="its host",
        healed=found["healed"],
        failed=found["failed"],
        still_on=found["still_on"],
        verified=verified,
        faults=found["faults"],
        nodes=found["nodes"],
    )


def _is_clean(part: HealedSystem) -> bool:
    return not part.failed and not part.still_on and part.pending is None
