"""Faults of whole processes, of the system's membership, and of its clients."""

from __future__ import annotations

from functools import partial

from refute.plan.fault_entry import FaultEntry, Parameter

_OTHERS_SAY_SO = "another node lists other members than before"
_VERSION = Parameter(
    "version",
    "text",
    "the version (of the system's description; first: as it began) in which it is started again",
)
_MEMORY = "the page cache survives: nothing that was written is lost, synced or not"
_process = partial(
    FaultEntry,
    plane="process",
    targets="nodes",
    needs="processes that refute has started itself",
    probe="a process of our own is signalled and looked at",
)
_ended = partial(
    _process,
    injector="exit status, as collected by the parent",
    victim="nobody listens on the node's ports any more",
    cleanup="the node is started again with the same data and is waited for; the guard ends what is left",
    infidelities=(_MEMORY, "peers see a clean end of their connections at once, as from no dead machine"),
)
_MOSTLY = ("safety", "liveness", "durability", "idempotency", "ordering", "membership", "operational")

ENTRIES = (
    _process(
        kind="pause",
        does="SIGSTOP to all processes of the node: it does nothing, keeps its sockets and leases, and does "
        "not know that time has passed when it is continued",
        is_not="a crash: nothing is lost; nor a partition: its kernel still accepts and acknowledges",
        tests=("safety", "liveness", "isolation", "ordering", "fairness", "idempotency", "membership"),
        cannot_test=("durability",),
        parameters=(),
        injector="state letter T in the process table; where strace is attached, t at each of its threads",
        victim="no CPU time is used by the processes that serve the node's ports",
        cleanup="SIGCONT to exactly those processes",
        infidelities=("the kernel still accepts connections and takes bytes for it",),
    ),
    _ended(
        kind="kill",
        does="SIGKILL to all processes of the node; it stays down until it is started",
        is_not="power loss: the page cache survives, so that what was written without fsync is still there",
        tests=_MOSTLY,
        cannot_test=("performance",),
        parameters=(_VERSION,),
    ),
    _ended(
        kind="terminate",
        does="the node is asked to stop as its description says, and killed where it does not in time",
        is_not="a crash: it may hand over, flush and say goodbye",
        tests=("liveness", "operational", "durability", "membership", "idempotency"),
        cannot_test=("performance",),
        parameters=(_VERSION,),
    ),
    _ended(
        kind="restart",
        does="the node is ended and started again with the same data, in another version if one is named; "
        "over when it is ready",
        is_not="a reboot: the page cache and the machine's clock go on",
        tests=_MOSTLY,
        cannot_test=("performance",),
        parameters=(
            _VERSION,
            Parameter("how", "choice", "how it is ended", "terminate", ("terminate", "kill")),
            Parameter("down", "duration", "how long it stays down", 0),
        ),
    ),
    _ended(
        kind="crash-loop",
        does="the node is killed and started again and again, and killed once more before it has settled",
        is_not="one crash: recovery itself is interrupted",
        tests=_MOSTLY,
        cannot_test=("performance",),
        parameters=(
            Parameter("times", "count", "how often", 5),
            Parameter("up", "duration", "how long it lives", "500ms"),
            Parameter("down", "duration", "how long it is down", 0),
            _VERSION,
        ),
    ),
    _ended(
        kind="rolling-restart",
        does="one node after the other is ended, started again and waited for, as in an upgrade",
        is_not="an outage: at most one node is down at a time",
        tests=("safety", "liveness", "durability", "operational", "membership", "ordering"),
        cannot_test=("performance",),
        parameters=(
            _VERSION,
            Parameter("order", "list", "the nodes in the order in which they are restarted"),
            Parameter("how", "choice", "how each is ended", "terminate", ("terminate", "kill")),
            Parameter("down", "duration", "how long each stays down", 0),
            Parameter("pause", "duration", "how long is waited between two", 0),
        ),
    ),
    *(
        FaultEntry(
            plane="membership",
            kind=kind,
            does=does,
            is_not="a fault of the network or of a process: the system is told to do it",
            tests=("safety", "liveness", "durability", "membership", "operational"),
            cannot_test=("performance",),
            targets="nodes",
            parameters=(
                Parameter("command", "text", "the system's own command that does it, for `{node}`"),
                Parameter("undo", "text", "the one that undoes it: the node may join again"),
                Parameter("members", "text", "the one that prints the members by name, a line each"),
                Parameter(
                    "data", "choice", "the node's data before it joins again", "aside", ("aside", "keep")
                ),
                _VERSION,
                *more,
            ),
            needs="these three commands in the system's description" + needs,
            probe="it needs nothing of the machine",
            injector="exit status of the system's own command, which alone proves nothing",
            victim=victim,
            cleanup=f"the opposite command is run, the members of before are listed, the node is {ends}",
            infidelities=(
                "it goes as well as the system's own commands do",
                "where we are killed, the guard runs the opposite command and does not start the node",
            ),
        )
        for kind, does, needs, victim, ends, more in (
            (
                "add",
                "a spare, described and not started so far, joins and gets ready; healed, it leaves and is "
                "stopped",
                ", and one of its spares",
                f"{_OTHERS_SAY_SO}, and the new node is ready as the description says",
                "stopped",
                (
                    Parameter(
                        "start", "choice", "when it starts, of the command", "after", ("after", "before")
                    ),
                ),
            ),
            (
                "remove",
                "a node is told to leave, and stopped; healed, it joins again, empty",
                "",
                _OTHERS_SAY_SO,
                "started",
                (),
            ),
            (
                "replace",
                "a node leaves, is stopped, and joins again at once, empty, under its old name",
                "",
                _OTHERS_SAY_SO,
                "started",
                (),
            ),
        )
    ),
)
