"""Faults of what a machine gives to a node: storage, clock and resources."""

from __future__ import annotations

from functools import partial

from refute.plan.fault_entry import ANY, FaultEntry, Parameter

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
_THROUGH = Parameter(
    "through",
    "choice",
    "what is between the node and the kernel: strace, or a preloaded library that the node carries from its "
    "start on; any: strace where it works. The same for all such faults of a scenario",
    ANY,
    (ANY, "strace", "preload"),
)
_CALLS_CLEANUP = (
    "strace detaches, or the shim lets all calls through, its count stands still and no thread waits in it; "
    "the node goes on, and one that has ended is started"
)
_CALLS_INFIDELITIES = (
    "io_uring is not hit, nor what is written into mapped memory",
    "strace: a traced process is slower in every call; writes into and reads of files that are made after "
    "the fault began are not hit",
    "preload: reads, what stdio writes (fwrite, fprintf), and calls past the C library are not hit; msync "
    "and sync_file_range count as fsync; files elsewhere than in the data directory are never hit",
)
_GROUP = "control groups that may be written (root, or delegated), in version 1 or 2"
_resource = partial(
    FaultEntry,
    plane="resource",
    targets="nodes",
    tests=("liveness", "performance", "fairness", "operational", "safety"),
    probe="a process of our own is put under the limit and taken out again",
    infidelities=("nodes share the machine, so that the others may feel it too",),
)

ENTRIES = (
    _storage(
        kind="power-loss",
        does="everything that was not synced is dropped, and the node is killed: it stands still, its file "
        "system is shut down without flushing and mounted again; all nodes of one fault lose it at one "
        "moment, and each stays off until it is started",
        is_not="SIGKILL, which keeps the page cache",
        tests=_DURABLE,
        cannot_test=("performance", "liveness", "fairness"),
        parameters=(
            Parameter("version", "text", "the version (of the system's description) in which it comes back"),
            Parameter(
                "file_system",
                "choice",
                "ext4 on a loop device, or one of ours in user space that keeps what ext4 would; the same "
                "for all power losses of a scenario",
                ANY,
                (ANY, "ext4", "fuse"),
            ),
        ),
        needs="root with mount namespaces, loop devices and ext4; or, for anyone, refute[fuse], libfuse 3, a "
        "/dev/fuse that this user may open, and user namespaces. Wanted before the nodes start, so that "
        "their {data} are on a file system of their own",
        probe="on a file system of our own of each kind, a file written without fsync is gone and one with "
        "fsync is there",
        injector="a probe write returns EIO; the unsynced probe file is gone, the synced one is there; in "
        "user space also the bytes that were dropped",
        victim="files of the node on that file system, open or in its data directory: none while it is cut",
        cleanup="the file system is mounted again and takes writes, the node runs; at the end mount, loop "
        "device and image, or the process that serves it and its folder, are gone with our namespace",
        infidelities=(
            "the disk's own cache is not lost, and no sector is torn",
            "what the node keeps outside its data directory is not lost",
            "peers see a clean end of its connections at once, as from no dead machine",
            "in user space each call costs a change of process, and punching holes, extended attributes and "
            "exchanging renames do not work; sync and syncfs carry nothing to the disk there",
            "in user space names are modelled as ext4 keeps them: creating, renaming and removing are in one "
            "journal, which fsync of any file or directory writes, and which is written every 5 s; stricter "
            "file systems may lose a name whose directory was not synced",
        ),
    ),
    _storage(
        kind="disk-full",
        does="writes return ENOSPC: a file of ours takes the space of the node's file system",
        is_not="a failing disk: what is there can be read, and written over in place",
        tests=_DURABLE,
        cannot_test=("performance", "fairness"),
        parameters=(Parameter("free", "size", "bytes that are left free", "0B"),),
        needs="a small file system for {data}, wanted before the nodes start: an ext4 image for root, else "
        "memory in a user namespace, or the one in user space where power-loss is wanted too",
        probe="a small file system is filled, and a write into it tried",
        injector="a write of a little more than is left free ends with ENOSPC",
        victim="no byte is free where the node sees its data directory; lines of its log that name "
        "the error; its end",
        cleanup="the filling file is removed, and a write succeeds; a node that has ended is started",
        infidelities=(
            "a node that frees space may use it: it is not taken again",
            "files that were allocated before, as logs often are, can be written on",
        ),
    ),
    _storage(
        kind="read-only",
        does="the kernel makes the node's file system read-only, as it does upon an error of the disk: files "
        "cannot be opened for writing (EROFS), writes to open ones end with EIO",
        is_not="a full disk; nor a loss: what was written until then is synced first",
        tests=_DURABLE,
        cannot_test=("performance", "fairness"),
        parameters=(),
        needs="root, as for power-loss on ext4",
        probe="a file system of our own is made read-only while a file on it is open for writing",
        injector="a write ends with EROFS",
        victim="opening its newest file for writing, as the node sees it; lines of its log that name "
        "the error; its end",
        cleanup="the node is killed, its file system mounted again, the node started: as an operator has to",
        infidelities=("healing it ends the node",),
    ),
    _storage(
        kind="io-error",
        does="fsync and fdatasync, or writes into or reads of the files in the data directory, return EIO or "
        "ENOSPC",
        is_not="corruption: nothing wrong is returned; nor a loss: what was written is still there",
        tests=_DURABLE,
        cannot_test=("performance", "fairness"),
        parameters=(
            Parameter("call", "choice", "which", "fsync", ("fsync", "write", "read")),
            Parameter(
                "share", "share", "of the calls of each thread: 0.5 is every second, from the first", 1.0
            ),
            Parameter("error", "choice", "what they return", "EIO", ("EIO", "ENOSPC")),
            _THROUGH,
        ),
        needs="strace, and that it may attach to processes of the same user that it did not start (with "
        "kernel.yama.ptrace_scope 1 only root may); or, where it may not, a C compiler and programs that use "
        "the C library (Go and static ones are refused): then wanted before the nodes start, so that they "
        "carry the preload shim",
        probe="a program of our own that syncs a file is traced; another carries the preload shim",
        injector="calls that strace reports as INJECTED, or that the preload shim counts",
        victim="lines of the node's log that name the error, or its end; a node that says nothing needs a "
        "signal that the plan declares",
        cleanup=_CALLS_CLEANUP,
        infidelities=(
            *_CALLS_INFIDELITIES,
            "a failed fsync is not done, and that is all: that a kernel may take the data for written then, "
            "so that the next fsync succeeds although they are lost, is not modelled",
        ),
    ),
    _storage(
        kind="slow-io",
        does="fsync and fdatasync, or writes into files in the data directory, take longer: a slow disk",
        is_not="an overloaded machine",
        tests=("liveness", "performance", "fairness", "safety"),
        cannot_test=("durability",),
        parameters=(
            Parameter("call", "choice", "which", "fsync", ("fsync", "write")),
            Parameter("by", "duration", "how much longer, at least 1ms", "100ms"),
            _THROUGH,
        ),
        needs="as for io-error",
        probe="a program of our own that syncs a file is traced; another carries the preload shim",
        injector="calls that strace reports as DELAYED, or that the preload shim counts",
        victim="times that the kernel showed a thread of the node as held for half of the delay or longer: "
        "in the tracing stop; or asleep where the shim says that it waits, told every half second",
        cleanup=_CALLS_CLEANUP,
        infidelities=_CALLS_INFIDELITIES,
    ),
    *(
        _storage(
            kind=kind,
            does=does,
            is_not="an error that is reported: the file is simply other than it was",
            tests=_DURABLE,
            cannot_test=("performance", "fairness", "liveness"),
            parameters=(
                Parameter(
                    "file",
                    "text",
                    "pattern of its path in the data directory, or of its name; of several the newest",
                ),
                *more,
            ),
            needs="nothing; a node that runs is killed for it. swapped-file is wanted before the start: "
            "each start then keeps a copy of the data",
            probe="a file of our own is changed",
            injector="digest of the file before and after",
            victim="of the next start: the file is read (time of access), lines of the log that name damage, "
            "or another end than being ready",
            cleanup="the node is started; the damage is meant to stay, in data that end with the run. A node "
            "that ends because of it gets its file back from the copy that is kept in the run's directory",
            infidelities=(
                "one file of each node, while a broken disk may damage several",
                "where the file system is mounted with noatime, a read does not show",
            ),
        )
        for kind, does, more in (
            (
                "torn-tail",
                "the last bytes of a file are gone",
                (Parameter("bytes", "size", "how many", "100B"),),
            ),
            ("bit-flip", "one bit of a file is flipped", (Parameter("count", "count", "how many bits", 1),)),
            ("lost-file", "a file is gone", ()),
            ("swapped-file", "a file is what it was when the node was started last", ()),
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
        does="the node gets a small share of one core, all of its processes together",
        is_not="a pause: it goes on, slowly",
        cannot_test=("durability",),
        parameters=(Parameter("share", "share", "of one core, from 0.01 on", 0.1),),
        needs=_GROUP,
        injector="periods in which it was throttled, counted by its control group",
        victim="time for which it was kept from running, while the processes that serve are in the group",
        cleanup="the quota is taken off; our own group is removed when the run ends",
    ),
    _resource(
        kind="memory",
        does="the node gets less memory and no swap; the kernel kills it where it needs more",
        is_not="a leak; nor a failing allocation, as the kernel promises memory before it has it",
        cannot_test=("isolation",),
        parameters=(
            Parameter("limit", "size", "bytes that it may have in all", "256MiB"),
            Parameter("spare", "size", "instead of limit: so many more than it has now"),
        ),
        needs=_GROUP,
        injector="times that its memory reached the limit, counted by its control group",
        victim="processes of the group that the kernel killed for want of memory",
        cleanup="the limit is taken off, and a node that was killed is started again",
        infidelities=(
            "nodes share the machine, so that the others may feel it too",
            "a node that lives within the limit by giving up cached files is slower, and has not been hit",
            "version 1 of control groups refuses a limit that is below what is in use; version 2 kills",
        ),
    ),
    _resource(
        kind="io",
        does="the node's reads and writes of the disk under its data are limited, each to this rate",
        is_not="a failing disk; nor a slow fsync, as what is small goes through at once",
        cannot_test=("durability",),
        parameters=(Parameter("rate", "bandwidth", "of the device", "1MB/s"),),
        needs=_GROUP + ", and data on a disk",
        injector="bytes that went through its control group",
        victim="bytes per second that its processes read and write come down to the limit",
        cleanup="the limit is taken off; our own group is removed when the run ends",
        infidelities=(
            "nodes share the machine, so that the others may feel it too",
            "in version 1 of control groups, what is written without fsync goes to the disk unlimited",
        ),
    ),
    _resource(
        kind="descriptors",
        does="the node may open no more files or sockets than a few",
        is_not="a limit that it had from its start: what is open stays open",
        cannot_test=("isolation",),
        parameters=(Parameter("spare", "count", "how many more it may open", 1),),
        needs="Linux, processes of our own user",
        injector="the limit of the processes that serve, read back",
        victim="they were seen with no descriptor left that they can open",
        cleanup="each process, and each child that inherited it, gets back the limit that it had",
        infidelities=(
            "looked at four times a second: a node that was at its limit for less may not be seen there",
        ),
    ),
    _resource(
        kind="freezer",
        does="the node's control group is frozen: all its processes at once, children too",
        is_not="SIGSTOP: no parent is told, and the node cannot tell afterwards; else as a pause",
        cannot_test=("durability",),
        parameters=(),
        needs=_GROUP,
        injector="state of the control group",
        victim="CPU time per second of the processes that serve falls to zero",
        cleanup="the group is thawed, and removed when the run ends",
    ),
    _resource(
        kind="noisy-neighbour",
        does="processes of ours use CPU or disk beside the nodes",
        is_not="a limit of one node",
        cannot_test=("durability",),
        parameters=(
            Parameter("load", "choice", "of what", "cpu", ("cpu", "disk")),
            Parameter("workers", "count", "processes; a machine with more cores needs more", 2),
        ),
        needs="nothing; for the evidence, Linux",
        injector="CPU time, or bytes written, of our own processes",
        victim="time that threads of the node wait for a CPU, by at least a hundredth; what a disk load does "
        "to the node, the plan has to name (evidence: a latency that the system reports)",
        cleanup="our own processes are ended, their files removed",
        infidelities=(
            "what else runs on the machine makes nodes wait as well: look at the control run",
            "no load of memory bandwidth: no counter tells its effect from that of CPU load",
        ),
    ),
)
