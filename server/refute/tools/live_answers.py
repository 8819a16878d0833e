"""What is asked of live systems, and what is answered: the models of the tools of module `live`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from refute.tools.answer import Answer, Request

Action = Literal["start", "status", "stop", "restart", "operation", "await", "run", "logs", "list"]

FileSystem = Literal["any", "ext4", "fuse"]
Through = Literal["any", "strace", "preload"]


class ManageSystem(Request):
    """One step with a live system. `id` may be left out while exactly one runs.

    - `start`: `plan` (a file whose section 6b describes the system), `system` where it describes several,
      `variables`, `session_root`, `idle_minutes`, and `planes` that nodes have to be started on for their
      faults, whole or one fault of them: `["netns", "storage/power-loss"]` (list_faults names them; process
      and proxy are always there); of those of storage, what they are had by: `file_system` (power-loss) and
      `through` (io-error, slow-io), as in a plan
    - `status`: nodes, their processes and states, faults with their evidence, what was recorded
    - `operation`: `operations`, as a plan writes them: `{"write": {"key": "k", "value": 1, "via": "leader"}}`
    - `await`: `condition`, as a plan writes it: `{"leader": "not old", "timeout": "10s"}`
    - `run`: `command` of the system, `node`, `arguments`
    - `restart`: `node`, `version`; `logs`: `node`, `lines`; `stop`; `list`: all live systems
    """

    action: Action
    id: str | None = None
    plan: str | None = None
    system: str | None = None
    variables: dict[str, str] = Field(default_factory=dict)
    planes: tuple[str, ...] = ()
    file_system: FileSystem = "any"
    through: Through = "any"
    session_root: str = "test-sessions"
    idle_minutes: float = Field(default=30.0, gt=0, le=24 * 60)
    operations: tuple[dict[str, Any], ...] = Field(default=(), max_length=100)
    condition: dict[str, Any] | None = None
    command: str | None = None
    arguments: tuple[str, ...] = ()
    node: str | None = None
    version: str | None = None
    lines: int = Field(default=50, ge=1, le=500)


class InjectFault(Request):
    """One fault, as a plan writes it: `{"pause": "leader as old", "for": "5s"}`, `{"isolate": "leader"}`,
    `{"fault": {"plane": "proxy", "kind": "delay", ...}}`. Without `for` it is healed after `ttl_s`."""

    fault: dict[str, Any]
    id: str | None = None
    ttl_s: float = Field(default=600.0, gt=0, le=3600)


class HealFaults(Request):
    """What to undo: a fault's id, its label, a node (or alias, or role), or `all` of one live system.

    `everywhere` undoes whatever is still on on this machine, of live systems, runs and crashed ones.
    """

    what: str = "all"
    id: str | None = None
    everywhere: bool = False


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class NodeNow(_Part):
    """A node; `plays` are the states that hold there, `unread` says why others could not be read."""

    node: str
    running: bool
    paused: bool
    pid: int | None
    exit: str | None
    version: str | None
    addresses: dict[str, str]
    states: dict[str, Any]
    plays: list[str]
    unread: dict[str, str]


class SignalNow(_Part):
    """One signal before, during and after a fault; `moved` is computed from the readings."""

    side: str
    name: str
    before: Any
    during: Any
    after: Any
    moved: bool


class EventNow(_Part):
    """One step in the life of a fault; `delay_ms` is how long after the awaited state it was on."""

    phase: str
    time_ns: int
    delay_ms: float | None
    detail: dict[str, Any]


class FaultNow(_Part):
    """A fault with its evidence so far. `landed`: a signal at the injector and one at a victim moved, and the
    evidence that was declared held; `missing` says what keeps it from that."""

    fault: str
    plane: str
    kind: str
    targets: list[str]
    parameters: dict[str, Any]
    label: str | None
    on: bool
    guard_heals_in_s: float | None
    healed_by: str | None
    why: str
    left: str
    landed: bool | None
    missing: list[str] = Field(default_factory=list)
    note: str
    signals: list[SignalNow]
    events: list[EventNow]


class OperationNow(_Part):
    """An operation as it was recorded; `outcome` info means that nobody knows."""

    index: int
    process: str
    kind: str
    key: Any
    input: Any
    output: Any
    outcome: str
    error: str | None
    node: str | None
    epoch: int
    took_ms: float | None
    extra: dict[str, Any]


class JobNow(_Part):
    """A request that outlasted its call, or that is being worked on now."""

    job: str
    what: str
    done: bool
    answer: dict[str, Any] | None = None
    error: str | None = None


class SystemNow(_Part):
    """A live system in the list."""

    id: str
    system: str
    state: str
    began: str
    ended: str | None
    why: str
    folder: str
    plan: str
    host_pid: int


class LiveAnswer(Answer):
    """The system and what the action found. `pending` names a job that goes on; `status` tells its end."""

    system: SystemNow | None = None
    next: str = ""
    pending: str | None = None
    jobs: list[JobNow] = Field(default_factory=list)
    systems: list[SystemNow] = Field(default_factory=list)
    nodes: list[NodeNow] = Field(default_factory=list)
    faults: list[FaultNow] = Field(default_factory=list)
    aliases: dict[str, str] = Field(default_factory=dict)
    recorded: dict[str, int] = Field(default_factory=dict)
    operations: list[OperationNow] = Field(default_factory=list)
    left_out: int | None = None
    met: bool | None = None
    reason: str = ""
    saved: dict[str, Any] = Field(default_factory=dict)
    came: bool | None = None
    missing: str = ""
    waited_s: float | None = None
    roles: dict[str, str] = Field(default_factory=dict)
    node: str | None = None
    ready_s: float | None = None
    path: str | None = None
    lines: list[str] = Field(default_factory=list)
    more_before: bool | None = None
    argv: list[str] = Field(default_factory=list)
    exit_code: int | None = None
    output: str = ""
    errors: str = ""
    took_s: float | None = None


class InjectAnswer(Answer):
    """The fault that is on now. Signals go on being read: `status` has the evidence so far at any time."""

    system: SystemNow
    next: str = ""
    pending: str | None = None
    jobs: list[JobNow] = Field(default_factory=list)
    fault: FaultNow | None = None
    resolved: list[str] = Field(default_factory=list)
    heals_itself_in_s: float | None = None
    aliases: dict[str, str] = Field(default_factory=dict)


class HealedSystem(_Part):
    """What was undone in one live system, with the evidence, and what was looked at afterwards."""

    system: SystemNow
    by: Literal["its host", "its ledger"]
    healed: list[str] = Field(default_factory=list)
    failed: dict[str, str] = Field(default_factory=dict)
    still_on: list[str] = Field(default_factory=list)
    verified: list[str] = Field(default_factory=list)
    ended_processes: list[str] = Field(default_factory=list)
    faults: list[FaultNow] = Field(default_factory=list)
    nodes: list[NodeNow] = Field(default_factory=list)
    pending: str | None = None


class HealAnswer(Answer):
    """Per live system, and per other ledger where everything was asked for. `clean`: nothing is left on."""

    clean: bool
    systems: list[HealedSystem] = Field(default_factory=list)
    healed: dict[str, str] = Field(default_factory=dict)
    failed: dict[str, str] = Field(default_factory=dict)
    ended_processes: list[str] = Field(default_factory=list)
    untouched: list[str] = Field(default_factory=list)
    next: str = ""
