"""Every tool by name: what the MCP server and the command line both offer, imported only when called."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_type_hints

from pydantic import BaseModel

Toolset = Literal["read", "run", "fault"]


@dataclass(frozen=True, slots=True)
class Tool:
    """One row: `function` is `module:name` below `refute.tools` and takes one request, gives one answer.

    `changes` says that it changes something outside refute's own notes; `destroys` that it may do harm to
    the system under test, so that a client should ask its user first; `repeatable` that calling it twice
    is the same as calling it once. `writes` are fields of the request that make it write a file, although it
    changes nothing without them.
    """

    name: str
    title: str
    function: str
    toolset: Toolset
    changes: bool = False
    destroys: bool = False
    repeatable: bool = True
    writes: tuple[str, ...] = ()

    def load(self) -> Callable[[Any], Any]:
        """The function itself."""
        module, _, attribute = self.function.partition(":")
        function: Callable[[Any], Any] = getattr(importlib.import_module(f"refute.tools.{module}"), attribute)
        return function

    def request_type(self) -> type[BaseModel]:
        """The pydantic model of its request."""
        hints = get_type_hints(self.load())
        request: type[BaseModel] = hints["request"]
        return request


TOOLS: tuple[Tool, ...] = (
    Tool("map_repository", "What a repository is made of", "repositories:map_repository", "read"),
    Tool("scope_change", "What a change touches", "repositories:scope_change", "read"),
    Tool("extract_claims", "What a product promises", "repositories:extract_claims", "read"),
    Tool("discover_toolbox", "How its tests are run", "repositories:discover_toolbox", "read"),
    Tool("scaffold_plan", "A first plan", "plans:scaffold_plan", "run", changes=True),
    Tool("check_plan", "What a reviewer would find in a plan", "plans:check_plan", "read"),
    Tool("probe_environment", "What this machine can do", "environments:probe_environment", "read"),
    Tool("list_faults", "Every fault and whether it works here", "faults:list_faults", "read"),
    Tool(
        *("manage_system", "Start, stop and look at a live system", "live:manage_system", "fault"),
        changes=True,
        destroys=True,
        repeatable=False,
    ),
    Tool(
        *("inject_fault", "Do one fault to a live system", "live:inject_fault", "fault"),
        changes=True,
        destroys=True,
        repeatable=False,
    ),
    Tool("heal_faults", "Undo faults", "live:heal_faults", "fault", changes=True),
    Tool(
        *("start_run", "Run a plan in the background", "runs:start_run", "run"),
        changes=True,
        destroys=True,
        repeatable=False,
    ),
    Tool("get_run", "How far a run is", "runs:get_run", "read"),
    Tool("cancel_run", "Stop a run", "runs:cancel_run", "run", changes=True),
    Tool("check_history", "One history, one answer", "histories:check_history", "read", writes=("plot",)),
    Tool(
        *("reduce_failure", "Make a failure smaller", "reductions:reduce_failure", "run"),
        changes=True,
        destroys=True,
    ),
    Tool("write_report", "Verify a session and write its report", "runs:write_report", "run", changes=True),
    Tool("read_artifact", "Read a file of a session", "artifacts:read_artifact", "read"),
)


def tool(name: str) -> Tool:
    """The tool of that name. Raises KeyError."""
    return next(row for row in TOOLS if row.name == name)
