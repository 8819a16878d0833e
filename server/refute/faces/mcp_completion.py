"""Completion of prompt arguments and of the names of bundled plans, while somebody types them."""

from __future__ import annotations

import asyncio

from mcp.server.mcpserver import MCPServer
from mcp_types import (
    Completion,
    CompletionArgument,
    CompletionContext,
    PromptReference,
    ResourceTemplateReference,
)

from refute.tools.completions import bundled_slugs, completions

_MOST = 100
"""As many values as the protocol lets one answer carry."""


def add_completion(server: MCPServer) -> None:
    """Registers the handler."""

    # The library leaves its decorator without types.
    @server.completion()  # type: ignore[no-untyped-call,untyped-decorator]
    async def complete(
        ref: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        context: CompletionContext | None,
    ) -> Completion:
        given = (context.arguments if context else None) or {}
        if isinstance(ref, PromptReference):
            # It may read a repository: not in the thread that answers everybody.
            found = await asyncio.to_thread(completions, ref.name, argument.name, argument.value, given)
        elif ref.uri == "refute://plans/{slug}" and argument.name == "slug":
            found = tuple(slug for slug in bundled_slugs() if slug.startswith(argument.value))
        else:
            found = ()
        return Completion(values=list(found[:_MOST]), total=len(found), has_more=len(found) > _MOST)
