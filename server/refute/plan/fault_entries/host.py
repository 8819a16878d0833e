"""Faults of what a machine gives to a node: storage, clock and resources."""

from __future__ import annotations

from functools import partial

from refute.plan.fault_entry import FaultEntry, Parameter

_DURABLE = ("durability", "safety", "operational", "idempotency")
_storage = partial(FaultEntry, plane="storage", targets="nodes")
_clock = partial(
    FaultEntry,
    plane="clock",
    targets="nodes",
    is_not="a change of the machine's clock, which is never set",
    tests=("safety", "liveness", "ordering", "idempotency", "isolation"),
    cannot_test=("durability", "performance"),
    needs="Linux, a C compiler, and programs that use the C library; Go and static ones are refused",
    probe="the shim is built, and a program of our own sees its clock change and be true again",
    injector="what the page that the shim reads says of the clock",
    victim="answers with an altered time, counted by the shim inside the processes that serve the node's "
    "ports and their children",
    cleanup="the page says the true time again, which for the node is one more jump",
    infidelities=(
        "only the wall clock (CLOCK_REALTIME, gettimeofday, time): monotonic clocks stay true, as they may "
        "never go back and a heal would have to set them back",
        "what a wrapper starts may not go through the C library: nothing is counted, not landed",
        "timers that are set go on by the true clock, and so do the times of files",
        "the system's own commands see the true clock",
    ),
)
_resource = partial(
    FaultEntry,
    plane="resource",
    targets="nodes",
    tests=("liveness", "performance", "fairness", "operational", "safety"),
    probe="a process of our own is put under the limit",
    infidelities=("nodes share the machine, so that the others may feel it too",),
)

ENTRIES = (
    _storage(
        kind="power-loss",
        does="everything that was not synced is dropped, and the node is killed: its file system is shut "
        "down without flushing and mounted again; all nodes of one fault lose it at one moment, and each "
        "stays off until it is started",
        is_not="SIGKILL, which keeps the page cache",
        tests=_DURABLE,
        cannot_test=("performance", "liveness", "fairness"),
        parameters=(
            Parameter("version", "text", "the version (of the system's description) in which it comes back"),
        ),
        needs="root with mount namespaces, loop devices and ext4; wanted before the nodes start, so that "
        "their {data} are on a file system of their own",
        probe="on a file system of our own, a file written without fsync is gone and one with fsync is there",
        injector="a probe write returns EIO; the unsynced probe file is gone, the synced one is there",
        victim="files of the node on that file system, open or in its data directory: none while it is cut",
        cleanup="the file system is mounted again and takes writes, the node runs; at the end mount, loop "
        "device and image are gone with our namespace",
        infidelities=(
            "the disk's own cache is not lost, and no sector is torn",
            "what the node keeps outside its data directory is not lost",
            "peers see a clean end of its connections at once, as from no dead machine",
        ),
    ),
    _storage(
        kind="disk-full",
        does="writes return ENOSPC",
        is_not="a failing disk: what is there can be read",
        tests=_DURABLE,
        cannot_test=("performance", "fairness"),
        parameters=(Parameter("free", "size", "bytes that are left free", "0B"),),
        needs="a small file system for the data directory: tmpfs in a user namespace, or a loop image",
        probe="a small file system is filled",
        injector="free bytes of the file system",
        victim="errors in the node's log, or writes of a probe that fail",
        cleanup="the filling file is removed",
    ),
    _storage(
        kind="read-only",
        does="the file system refuses writes",
        is_not="a full disk",
        tests=_DURABLE,
        cannot_test=("performance", "fairness"),
        parameters=(),
        needs="a mount of our own",
        probe="a mount of our own is made read-only",
        injector="a probe write returns EROFS",
        victim="errors in the node's log",
        cleanup="the mount is made writable",
    ),
    _storage(
        kind="io-error",
        does="fsync, fdatasync, write or read return EIO now and then",
        is_not="corruption: nothing wrong is returned",
        tests=_DURABLE,
        cannot_test=("performance", "fairness"),
        parameters=(
            Parameter("call", "choice", "which", "fsync", ("fsync", "write", "read")),
            Parameter("share", "share", "of the calls", 1.0),
        ),
        needs="strace, or the preload shim",
        probe="a program of our own sees the error",
        injector="injections counted by the tracer or shim",
        victim="errors in the node's log, or its exit",
        cleanup="the tracer leaves; the shim is switched off",
        infidelities=("a traced process is slower",),
    ),
    _storage(
        kind="slow-io",
        does="fsync or write takes longer",
        is_not="an overloaded machine",
        tests=("liveness", "performance", "fairness", "safety"),
        cannot_test=("durability",),
        parameters=(
            Parameter("call", "choice", "which", "fsync", ("fsync", "write")),
            Parameter("by", "duration", "how much longer", "100ms"),
        ),
        needs="strace, or the preload shim",
        probe="a program of our own takes longer",
        injector="delays counted by the tracer or shim",
        victim="time of the node's acknowledged writes",
        cleanup="the tracer leaves; the shim is switched off",
        infidelities=("a traced process is slower in everything",),
    ),
    *(
        _storage(
            kind=kind,
            does=does,
            is_not="an error that is reported: the file is simply other than it was",
            tests=_DURABLE,
            cannot_test=("performance", "fairness", "liveness"),
            parameters=(Parameter("file", "text", "pattern of the file's path in the data directory"), *more),
            needs="a node that is stopped",
            probe="a file of our own is changed",
            injector="digest of the file before and after",
            victim="what the node says, or how it ends, when it is started again",
            cleanup="none: the damage is meant to stay; a copy of the file is kept in the run's directory",
        )
        for kind, does, more in (
            (
                "torn-tail",
                "the last bytes of a file are gone",
                (Parameter("bytes", "size", "how many", "100B"),),
            ),
            ("bit-flip", "one bit of a file is flipped", (Parameter("count", "count", "how many bits", 1),)),
            ("lost-file", "a file is gone", ()),
            ("swapped-file", "a file is an earlier version of itself", ()),
        )
    ),
    _clock(
        kind="jump",
        does="the node's wall clock is off by a constant from now on, also after a restart",
        parameters=(
            Parameter("by", "duration", "forwards; or with back: true backwards", "60s"),
            Parameter("back", "flag", "backwards", False),
        ),
    ),
    _clock(
        kind="skew",
        does="the clocks of several nodes are ahead by different constants: of three by a third, by two "
        "thirds and by all of it",
        parameters=(Parameter("by", "duration", "the largest", "10s"),),
    ),
    _clock(
        kind="drift",
        does="the node's clock runs too fast or too slow from the true time on",
        parameters=(Parameter("factor", "number", "its speed", 1.5),),
    ),
    _clock(kind="freeze", does="the node's clock stands still", parameters=()),
    _resource(
        kind="cpu",
        does="the node gets a small share of one core",
        is_not="a pause: it goes on, slowly",
        cannot_test=("durability",),
        parameters=(Parameter("share", "share", "of one core", 0.1),),
        needs="a cgroup that may be written",
        injector="periods in which it was throttled, counted by the cgroup",
        victim="CPU time per second of the node",
        cleanup="the limit is taken off; our own cgroup is removed",
    ),
    _resource(
        kind="memory",
        does="the node gets less memory; the kernel kills it where it needs more",
        is_not="a leak",
        cannot_test=("isolation",),
        parameters=(Parameter("limit", "size", "bytes", "256MiB"),),
        needs="a cgroup that may be written",
        injector="events counted by the cgroup",
        victim="the node's resident memory, or its exit",
        cleanup="the limit is taken off; our own cgroup is removed",
    ),
    _resource(
        kind="io",
        does="the node's reads and writes of a device are limited",
        is_not="a failing disk",
        cannot_test=("durability",),
        parameters=(Parameter("rate", "bandwidth", "of the device", "1MB/s"),),
        needs="a cgroup with the io controller",
        injector="bytes counted by the cgroup",
        victim="bytes per second of the node",
        cleanup="the limit is taken off; our own cgroup is removed",
    ),
    _resource(
        kind="descriptors",
        does="the node may open no more files or sockets",
        is_not="a limit that it had from its start",
        cannot_test=("isolation",),
        parameters=(Parameter("spare", "count", "how many more it may open", 1),),
        needs="prlimit on processes of our own",
        injector="the limit, read back",
        victim="connections that the node no longer accepts",
        cleanup="the limit is set back",
    ),
    _resource(
        kind="freezer",
        does="the node's cgroup is frozen",
        is_not="SIGSTOP: the node cannot tell afterwards",
        cannot_test=("durability",),
        parameters=(),
        needs="a cgroup that may be written",
        injector="state of the cgroup",
        victim="CPU time per second of the node falls to zero",
        cleanup="the cgroup is thawed and removed",
    ),
    _resource(
        kind="noisy-neighbour",
        does="processes of ours use the CPU, the disk or memory bandwidth beside the nodes",
        is_not="a limit of one node",
        cannot_test=("durability",),
        parameters=(
            Parameter("load", "choice", "of what", "cpu", ("cpu", "disk", "memory")),
            Parameter("workers", "count", "processes", 2),
        ),
        needs="nothing",
        injector="CPU time of our own processes",
        victim="time that the node's processes wait for a CPU",
        cleanup="our own processes are ended",
    ),
)
