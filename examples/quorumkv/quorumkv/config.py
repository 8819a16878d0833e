"""The command line of a node, as one frozen value."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from .policies import CURRENT, NEXT, Policies
from .tenants import Tenants, read_tenants

HEARTBEAT_S = 0.05
PEER_TIMEOUT_S = 0.25
SNAPSHOT_TIMEOUT_S = 2.0
READ_TIMEOUT_S = 0.5


@dataclass(frozen=True, slots=True)
class Address:
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Config:
    node: str
    client: Address
    peer: Address
    peers: dict[str, Address]
    data: Path
    tenants: Tenants
    admin_token: str | None
    election_s: tuple[float, float]
    write_timeout_s: float
    snapshot_every: int
    policies: Policies

    @property
    def majority(self) -> int:
        return (len(self.peers) + 1) // 2 + 1


def parse_address(text: str) -> Address:
    host, separator, port = text.rpartition(":")
    if not separator or not host or not port.isdigit():
        raise ValueError(f"expected host:port, got {text!r}")
    return Address(host, int(port))


def parse_peers(text: str) -> dict[str, Address]:
    """`n2=127.0.0.1:7102,n3=127.0.0.1:7103`"""
    peers: dict[str, Address] = {}
    for part in filter(None, text.split(",")):
        name, separator, address = part.partition("=")
        if not separator or not name or name in peers:
            raise ValueError(f"expected name=host:port, each name once, got {part!r}")
        peers[name] = parse_address(address)
    return peers


def parse_range(text: str) -> tuple[float, float]:
    """`300-600` (milliseconds) as seconds."""
    low, _, high = text.partition("-")
    low_s, high_s = int(low) / 1000, int(high or low) / 1000
    if not 0.1 <= low_s <= high_s:
        raise ValueError("the shortest election timeout is 100 ms")
    return low_s, high_s


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(prog="quorumkv", description="One node of a replicated key-value store.")
    add = result.add_argument
    add("--node", required=True, metavar="NAME", help="this node's name")
    add("--host", default="127.0.0.1", help="address to listen on (default %(default)s)")
    add("--client-port", required=True, type=int, help="HTTP port for clients")
    add("--peer-port", required=True, type=int, help="port for the other nodes")
    add("--peers", default="", metavar="N=HOST:PORT,...", help="where this node reaches each of the others")
    add("--data", required=True, type=Path, metavar="DIR", help="data directory, created if missing")
    add("--tenant", action="append", default=[], metavar="NAME:TOKEN", help="a tenant; may be repeated")
    add("--tenants", type=Path, metavar="FILE", help="file with a NAME:TOKEN a line")
    add("--admin-token", help="required by /v1/admin if given")
    add("--election-timeout-ms", default="300-600", metavar="LOW-HIGH", help="(default %(default)s)")
    add("--write-timeout-ms", type=int, default=1000, help="(default %(default)s)")
    add(
        "--snapshot-every",
        type=int,
        default=2000,
        metavar="N",
        help="entries between snapshots (default %(default)s)",
    )
    add("--next", action="store_true", help="behaviour planned for the next release, see CHANGELOG.md")
    return result


def read_config(arguments: list[str] | None = None) -> Config:
    """The configuration in the command line. Raises ValueError or TenantError on what cannot be used."""
    given = parser().parse_args(arguments)
    lines = list(given.tenant)
    if given.tenants is not None:
        lines += read_tenants(given.tenants)
    peers = parse_peers(given.peers)
    if given.node in peers:
        raise ValueError(f"--peers lists {given.node}, which is this node")
    if given.snapshot_every < 1:
        raise ValueError("--snapshot-every must be at least 1")
    return Config(
        node=given.node,
        client=Address(given.host, given.client_port),
        peer=Address(given.host, given.peer_port),
        peers=peers,
        data=given.data,
        tenants=Tenants(lines or ["default:dev"]),
        admin_token=given.admin_token,
        election_s=parse_range(given.election_timeout_ms),
        write_timeout_s=given.write_timeout_ms / 1000,
        snapshot_every=given.snapshot_every,
        policies=NEXT if given.next else CURRENT,
    )
