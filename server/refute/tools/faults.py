"""The tool that lists faults: what each really is, and whether it works on this machine now."""

from __future__ import annotations

from pydantic import Field

from refute.nemesis.mechanisms import list_faults as listed
from refute.plan.fault_catalog import CATALOG
from refute.tools.answer import Answer, Page, Request, page_of
from refute.tools.problems import ToolError


class ListFaultsRequest(Request):
    """One plane or all; `probe` tries each on this machine by doing it to something of refute's own."""

    plane: str | None = None
    probe: bool = True
    limit: int = Field(default=30, ge=1, le=200)
    cursor: str | None = None


class ShownFault(Answer):
    """One entry of the catalog, shortened to what a planner needs."""

    plane: str
    kind: str
    does: str
    is_not: str
    implemented: bool
    works: bool | None
    reason: str


class ListedFaults(Answer):
    """The faults, in the order of the catalog."""

    faults: list[ShownFault]
    page: Page


def list_faults(request: ListFaultsRequest) -> ListedFaults:
    """Every fault of the catalog, and whether it works here. Raises ToolError for an unknown plane."""
    planes = sorted({plane for plane, _ in CATALOG})
    if request.plane is not None and request.plane not in planes:
        raise ToolError(f"there is no plane {request.plane!r}", hint=f"there are: {', '.join(planes)}")
    entries = listed(probing=request.probe, plane=request.plane)
    shown, page = page_of(entries, request.limit, request.cursor)
    return ListedFaults(
        faults=[
            ShownFault(
                plane=entry["plane"],
                kind=entry["kind"],
                does=str(entry.get("does", "")),
                is_not=str(entry.get("is_not", "")),
                implemented=entry["implemented"],
                works=entry.get("works"),
                reason=str(entry.get("reason") or ""),
            )
            for entry in shown
        ],
        page=page,
    )
