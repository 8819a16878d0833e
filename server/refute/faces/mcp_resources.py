"""What an MCP client can read without a call: the catalogs, the bundled plans, runs and their reports."""

from __future__ import annotations

import json
from collections.abc import Callable

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError

from refute.errors import RefuteError
from refute.tools.prompts import bundled_plan, checker_catalog, fault_catalog, report_of


def add_resources(server: MCPServer) -> None:
    """Registers the resources."""

    @server.resource("refute://catalog/faults", title="Every fault", mime_type="application/json")
    def faults() -> str:
        """What each fault really does, what it is not, and how it is proven."""
        return json.dumps(fault_catalog(), ensure_ascii=False)

    @server.resource("refute://catalog/checkers", title="Every checker", mime_type="application/json")
    def checkers() -> str:
        """What each checker proves, which operations it consumes, its options."""
        return json.dumps(checker_catalog(), ensure_ascii=False)

    @server.resource("refute://runs", title="Runs below test-sessions", mime_type="application/json")
    def runs() -> str:
        """State and verdicts of every run, the latest first."""
        from refute.tools.runs import runs_below

        return json.dumps([state.model_dump(mode="json") for state in runs_below()], ensure_ascii=False)

    @server.resource("refute://plans/{slug}", title="A bundled plan", mime_type="text/markdown")
    def plan(slug: str) -> str:
        """A plan that travels with refute: an example to start from."""
        return _found(lambda: bundled_plan(slug))

    @server.resource("refute://runs/{slug}/{stamp}/report", title="A report", mime_type="text/markdown")
    def report(slug: str, stamp: str) -> str:
        """The report of a run below test-sessions."""
        return _found(lambda: report_of(slug, stamp))


def _found(read: Callable[[], str]) -> str:
    try:
        return read()
    except RefuteError as error:
        raise ResourceNotFoundError(str(error)) from None
