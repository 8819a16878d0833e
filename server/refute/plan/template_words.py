"""The words in braces that a system's commands may hold, such as `{port.client}` and `{peers}`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from refute.plan.defect import Defect
from refute.plan.document import Plan
from refute.plan.references import near
from refute.plan.system_spec import SystemSpec

# Only names are templates: braces of JSON or of a shell pass through as they are.
TEMPLATE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*)\}")

_OF_A_NODE = ("node", "index", "host", "data", "python", "plan_dir", "examples")
_OF_A_WORKER = frozenset({"python", "plan_dir"})


def known_words(system: SystemSpec) -> frozenset[str]:
    """Every word that is filled in for a node; `variables.NAME`, which a run may add, is not among them."""
    ports = {*system.ports, *({system.links.port} if system.links else ())}
    own = {*_OF_A_NODE, *(f"{what}.{port}" for what in ("port", "listen", "address") for port in ports)}
    others = {f"{node}.{word}" for node in system.everyone for word in own}
    linked = system.links is not None or "peer" in system.ports
    links = {f"link.{node}" for node in system.everyone} if linked else set()
    return frozenset({*own, *others, *links, *(f"addresses.{port}" for port in ports), "peers"})


def template_defects(plan: Plan) -> list[Defect]:
    """One defect for each word in braces that nothing fills in, so that nothing could be started."""
    return [
        Defect(
            "unknown-template",
            plan.system_blocks[system.system].line_of(*path),
            plan.system_blocks[system.system].section,
            f"{system.system}: {'.'.join(path)} asks for {{{word}}}, which nothing fills in",
            near(word, known),
            system.system,
        )
        for system in plan.systems.values()
        for known, texts in ((known_words(system), _at_a_node(system)), (_OF_A_WORKER, _at_a_worker(system)))
        for path, text in texts
        for word in TEMPLATE.findall(text)
        if word not in known and not word.startswith("variables.")
    ]


def rendered(system: SystemSpec) -> Iterator[tuple[tuple[str, ...], str]]:
    """Where templates are filled in, and each text there: at the nodes, then at the workers of clients."""
    yield from _at_a_node(system)
    yield from _at_a_worker(system)


def _at_a_worker(system: SystemSpec) -> Iterator[tuple[tuple[str, ...], str]]:
    for name, client in system.clients.items():
        if worker := client.worker:
            yield ("clients", name, "worker", "cwd"), worker.cwd or ""
            yield from ((("clients", name, "worker", "command"), text) for text in worker.command)
            yield from ((("clients", name, "worker", "env", key), text) for key, text in worker.env.items())


def _at_a_node(system: SystemSpec) -> Iterator[tuple[tuple[str, ...], str]]:
    yield ("cwd",), system.cwd or ""
    yield from ((("command",), text) for text in system.command)
    for name, text in system.env.items():
        yield ("env", name), text
    for name, argv in system.commands.items():
        yield from ((("commands", name), text) for text in argv)
    for name, version in system.versions.items():
        yield from ((("versions", name, "command"), text) for text in version.command or ())
        yield from ((("versions", name, "env", key), text) for key, text in version.env.items())
    for name, state in system.states.items():
        yield from ((("states", name, "command"), text) for text in state.command or ())
