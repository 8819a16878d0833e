"""A live system: one cluster with its nemesis, driven step by step and recorded as a run is."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from refute.history import Operation
from refute.nemesis.mechanisms import wanted_kinds
from refute.plan.step import CommandStep, OperationStep
from refute.plan.system_spec import SystemSpec
from refute.run.fault_evidence import fault_evidence
from refute.run.landing_file import LandingFile
from refute.run.live_answer import end_of_log, shown_command, shown_operation
from refute.run.live_record import LiveError, LiveInputError, LiveSpec
from refute.run.live_request import read_condition, read_operation, read_single_fault
from refute.run.stage import Say, Stage
from refute.session.files import plain
from refute.session.timeline import Timeline
from refute.system.observer import Seen
from refute.system.process_table import is_stopped
from refute.workload.directed import Sent

_MOST_OPERATIONS = 200


class LiveSystem:
    """The system while it lives. Leaving the context heals, stops everything and writes the evidence.

    Every public method is one request; they may come at the same time. `landing.json` is written anew each
    second while a fault is on, so that a host that is killed leaves the evidence so far.
    """

    def __init__(self, system: SystemSpec, spec: LiveSpec, *, say: Say) -> None:
        self.system = system
        self.folder = Path(spec.folder)
        self.stage = Stage(
            system,
            self.folder,
            plan_dir=Path(spec.plan_dir),
            variables=spec.variables,
            seed=spec.seed,
            say=say,
            stop=threading.Event(),
            wanted=wanted_kinds(spec.planes),
            file_system=spec.file_system,
            calls_through=spec.calls_through,
        )
        self._kinds = frozenset(
            kind for client in system.clients.values() if client.http for kind in client.http.operations
        )
        if any(client.worker for client in system.clients.values()):
            self._kinds = frozenset()  # what a worker knows is known to the worker alone
        self._counts: Counter[str] = Counter()
        self._nodes_change = threading.Lock()
        self._held = ExitStack()

    def __enter__(self) -> Self:
        """Open the records and take the ports; nothing runs yet."""
        with ExitStack() as taking:
            self.timeline = taking.enter_context(Timeline(self.folder / "run.jsonl"))
            taking.enter_context(self.stage)
            taking.enter_context(self.stage.recorder.listening(self._count))
            self._landing = taking.enter_context(LandingFile(self.folder, self.stage.nemesis, self.stage.say))
            self._held = taking.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Heal, stop, write the evidence."""
        self.stage.stop.set()
        self._mark("phase", "stop")
        self._held.__exit__(kind, error, trace)

    def start(self) -> None:
        """Start all nodes on the fault planes and wait until they are ready."""
        self.timeline.mark("phase", "start")
        self.stage.start()
        self.timeline.mark("phase", "ready")

    def status(self) -> dict[str, Any]:
        """Nodes with their processes and states, faults with their evidence, and what was recorded."""
        return {
            "nodes": self.nodes(),
            "faults": self.faults(),
            "aliases": dict(self.stage.aliases),
            "recorded": dict(self._counts),
        }

    def nodes(self) -> list[dict[str, Any]]:
        """Every node now; its states as they are read past the fault planes, or why they cannot be read."""
        read = {state: self.stage.observer.read_all(state) for state in self.system.states}
        cluster, shown = self.stage.cluster, []
        for name in cluster.present:
            process = cluster.nodes.get(name)
            shown.append(
                {
                    "node": name,
                    "running": bool(process and process.running),
                    "paused": bool(process and process.running and is_stopped(process.pid)),
                    "pid": process.pid if process and process.running else None,
                    "exit": str(process.exit) if process and process.exit else None,
                    "version": process.version if process else None,
                    "addresses": {port: cluster.address(name, port) for port in self.system.ports},
                    "states": {
                        state: plain(seen[name].value) for state, seen in read.items() if not seen[name].error
                    },
                    "plays": [state for state, seen in read.items() if seen[name].holds],
                    "unread": {state: seen[name].error for state, seen in read.items() if seen[name].error},
                }
            )
        return shown

    def faults(self, ids: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """The faults so far with their evidence, or these of them."""
        found = fault_evidence(self.folder, self.stage.nemesis.landings())
        return [plain(fault) for fault in found if ids is None or fault["fault"] in ids]

    def operate(self, written: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Send these operations, one step after the other; after a step that is not as expected, no more."""
        if not self.system.clients:
            raise LiveInputError(
                f"the system {self.system.system!r} has no clients, so that nothing can be sent"
            )
        steps = [read_operation(each, self._kinds) for each in written]
        sent: list[Operation] = []
        reason = ""
        for step in steps:
            nodes = self.stage.resolve(step.via)
            self.timeline.mark("step", f"{step.kind} via {step.via}", ", ".join(nodes))
            came = self._sent(step, nodes)
            sent += came.operations
            if not came.met:
                reason = came.reason
                break
        return {
            "operations": [shown_operation(operation) for operation in sent[-_MOST_OPERATIONS:]],
            "left_out": max(0, len(sent) - _MOST_OPERATIONS),
            "met": not reason,
            "reason": reason,
            "saved": plain(self.stage.clients.saved),
        }

    def wait(self, condition: Mapping[str, Any]) -> dict[str, Any]:
        """Wait for a state; whether it came, and which nodes then play the roles."""
        wanted = read_condition(condition)
        self.timeline.mark("step", f"await {dict(condition)}")
        began = time.monotonic()
        seen, missing = self.stage.wait(wanted)
        return {
            "came": seen is not None,
            "missing": missing,
            "waited_s": round(time.monotonic() - began, 3),
            "roles": dict(seen.roles) if isinstance(seen, Seen) else {},
        }

    def run(
        self, command: str, node: str | None, arguments: Sequence[str], timeout_s: float
    ) -> dict[str, Any]:
        """Run one of the system's own commands; what it said, its middle cut out where it said much."""
        step = CommandStep(command=command, node=node, arguments=tuple(arguments), timeout=timeout_s)
        where = self._one_node(step.node) if step.node else None
        self.timeline.mark("step", f"run {command}", where or "")
        result = self.stage.cluster.run_command(step.command, where, step.arguments, step.timeout)
        return shown_command(result)

    def restart(self, reference: str, version: str | None) -> dict[str, Any]:
        """Stop a node in order and start it with its data; the nodes afterwards."""
        node = self._one_node(reference)
        on = [fault["fault"] for fault in self.faults() if fault["on"] and node in fault["targets"]]
        if on:
            raise LiveInputError(f"{node} is under fault {', '.join(on)}", hint="heal it first")
        with self._nodes_change:
            self.timeline.mark("step", f"restart {node}", version or "")
            self.stage.cluster.restart(node, version)
            ready_s = self.stage.cluster.wait_ready([node])
        return {"node": node, "ready_s": round(ready_s, 3), "nodes": self.nodes()}

    def logs(self, reference: str, lines: int) -> dict[str, Any]:
        """The last lines of a node's log, of all its runs."""
        node = self._one_node(reference)
        return {"node": node, **end_of_log(self.stage.cluster.log_path(node), lines)}

    def inject(self, written: Mapping[str, Any], ttl_s: float) -> dict[str, Any]:
        """Apply one fault, at once or when its `when` has come; it is on when this returns.

        A fault without `for` is healed after `ttl_s`, should nobody have healed it by then.
        """
        action = read_single_fault(written, ttl_s)
        trigger: Any = None
        if action.when is not None:
            trigger, missing = self.stage.wait(action.when)
            if trigger is None:
                raise LiveError(f"not applied: what `when` asks for did not come: {missing}")
        if action.after_s:
            self.stage.stop.wait(action.after_s)
        targets = self.stage.resolve(action.target) if action.target is not None else ()
        if action.alias and targets:
            self.stage.aliases[action.alias] = targets[0]
        self.timeline.mark("step", f"inject {dict(written)}", ", ".join(targets))
        with self._nodes_change:
            fault = self.stage.nemesis.apply(action, targets, aliases=self.stage.aliases, trigger=trigger)
        self._landing.save()
        return {
            "fault": self.faults([fault])[0],
            "resolved": list(targets),
            "heals_itself_in_s": action.for_s,
            "aliases": dict(self.stage.aliases),
        }

    def heal(self, what: str) -> dict[str, Any]:
        """Undo a fault by id or label, those of a node, alias or role, or `all`; what was healed."""
        target = self._heal_target(what)
        self._mark("step", f"heal {what}")
        with self._nodes_change:
            healed = self.stage.nemesis.heal(target)
        self._landing.save()
        return {
            "target": target,
            "healed": list(healed.healed),
            "failed": dict(healed.failed),
            "faults": self.faults([*healed.healed, *healed.failed]),
            "still_on": [fault["fault"] for fault in self.faults() if fault["on"]],
            "nodes": self.nodes(),
        }

    # -- parts of it ----------------------------------------------------------------------------------------

    def _sent(self, step: OperationStep, nodes: Sequence[str]) -> Sent:
        if step.background:
            self.stage.clients.start_operation(step, nodes, stop=self.stage.stop)
            return Sent((), True)  # its operations are in the history once they are answered
        return self.stage.clients.run_operation(step, nodes, stop=self.stage.stop)

    def _one_node(self, reference: str) -> str:
        nodes = self.stage.resolve(reference)
        if len(nodes) != 1 or nodes[0] not in self.stage.cluster.present:
            raise LiveInputError(f"{reference!r} is not one node: {', '.join(nodes) or 'nobody'}")
        return nodes[0]

    def _heal_target(self, what: str) -> str:
        named = {"all", *self.system.everyone}
        for fault in self.faults():
            named |= {fault["fault"], *([fault["label"]] if fault["label"] else [])}
        if what in named:
            return what
        return self._one_node(what)

    def _mark(self, what: str, name: str) -> None:
        # Healing must not depend on room for a mark.
        try:
            self.timeline.mark(what, name)
        except OSError as error:
            self.stage.say(f"run.jsonl could not be written: {error}")

    def _count(self, operation: Operation) -> None:
        self._counts[f"{operation.kind} {operation.outcome.value}"] += 1
