"""A person's consent before something is done to a live system: asked of the client, or by a token."""

from __future__ import annotations

import json
import secrets
from typing import Annotated, Any

from mcp.server.elicitation import AcceptedElicitation, ElicitationResult
from mcp.server.mcpserver import Context, Elicit, Resolve
from mcp.server.mcpserver.resolve import build_resolver_plans, find_resolved_parameters, resolve_arguments
from mcp_types import InputRequiredResult
from pydantic import BaseModel, Field

from refute.errors import InputError
from refute.tools.registry import Tool

_WITHOUT = {
    "manage_system": ("action", ("start", "restart", "run")),
    "reduce_failure": ("rerun", (True,)),
}
"""Tools that only for some values of an argument do something that needs consent."""


class Consent(BaseModel):
    """The answer to the question."""

    go_ahead: bool = Field(description="yes: do it")


class NoConsentError(InputError):
    """The person said no, or did not answer."""


def _question(what: str) -> Elicit[Consent]:
    return Elicit(f"refute is about to {what}. Go ahead?", Consent)


def _asked(consent: Annotated[ElicitationResult[Consent], Resolve(_question)]) -> None:
    """Carries the resolver; never called."""


_RESOLVED = find_resolved_parameters(_asked)
_PLANS = build_resolver_plans(_RESOLVED, {"what"})


class Consents:
    """Tokens that were handed out to clients that cannot ask: each is good for one call with one content."""

    def __init__(self) -> None:
        self._tokens: dict[str, str] = {}

    async def obtain(
        self, row: Tool, arguments: dict[str, Any], token: str | None, context: Context[Any, Any]
    ) -> InputRequiredResult | str | None:
        """None where the call may go on; else a question for the client, or a new token to give back.

        Raises NoConsentError where the answer was no, InputError for a token that is not good.
        """
        content = json.dumps([row.name, arguments], sort_keys=True, default=str)
        if not needs_consent(row, arguments):
            return None
        if token is not None:
            if self._tokens.pop(token, None) != content:
                raise InputError("this confirm token is not good for this call", hint="call without it first")
            return None
        if not _can_ask(context):
            fresh = secrets.token_hex(8)
            self._tokens[fresh] = content
            return fresh
        found = await resolve_arguments(_RESOLVED, _PLANS, {"what": does(row, arguments)}, context)
        if isinstance(found, InputRequiredResult):
            return found
        answer = found["consent"]
        if not isinstance(answer, AcceptedElicitation) or not answer.data.go_ahead:
            raise NoConsentError(f"nothing was done: {row.name} was not agreed to")
        return None


def does(row: Tool, arguments: dict[str, Any]) -> str:
    """What the call would do, in a few words."""
    shown = ", ".join(f"{name} {json.dumps(value, default=str)}" for name, value in arguments.items())
    return f"{row.name.replace('_', ' ')} ({row.title.lower()}): {shown[:600]}"


def needs_consent(row: Tool, arguments: dict[str, Any]) -> bool:
    """Whether this call may do harm to a live system, so that a person has to agree to it first."""
    if not row.destroys:
        return False
    if row.name not in _WITHOUT:
        return True
    name, values = _WITHOUT[row.name]
    return arguments.get(name) in values


def _can_ask(context: Context[Any, Any]) -> bool:
    capabilities = context.client_capabilities
    asking = capabilities.elicitation if capabilities is not None else None
    return asking is not None and (asking.form is not None or asking.url is None)
