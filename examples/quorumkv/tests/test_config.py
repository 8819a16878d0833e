"""The command line and the tenants file: what is accepted, and what is refused with a reason."""

from __future__ import annotations

import unittest

from quorumkv.config import Address, parse_peers, parse_range, read_config
from quorumkv.tenants import TenantError, Tenants

LINE = ["--node", "n1", "--client-port", "1", "--peer-port", "2", "--data", "d"]


class ConfigTest(unittest.TestCase):
    def test_peers(self) -> None:
        self.assertEqual(parse_peers("n2=h:1,n3=h:2"), {"n2": Address("h", 1), "n3": Address("h", 2)})
        for wrong in ("n2", "n2=h", "n2=h:x", "n2=h:1,n2=h:2"):
            with self.assertRaises(ValueError):
                parse_peers(wrong)

    def test_a_majority_is_more_than_half(self) -> None:
        self.assertEqual(read_config(LINE).majority, 1)
        self.assertEqual(read_config([*LINE, "--peers", "n2=h:1,n3=h:2"]).majority, 2)

    def test_a_node_is_not_its_own_peer(self) -> None:
        with self.assertRaisesRegex(ValueError, "this node"):
            read_config([*LINE, "--peers", "n1=h:1"])

    def test_election_timeouts_are_a_range_of_milliseconds(self) -> None:
        self.assertEqual(parse_range("300-600"), (0.3, 0.6))
        with self.assertRaises(ValueError):
            parse_range("5-10")

    def test_tokens_belong_to_one_tenant(self) -> None:
        tenants = Tenants(["acme:one", "zeta:two"])
        self.assertEqual(tenants.by_token("two"), "zeta")
        self.assertIsNone(tenants.by_token("three"))
        for wrong in (["acme"], ["Acme:x"], ["a:x", "b:x"], ["a:x", "a:y"]):
            with self.assertRaises(TenantError):
                Tenants(wrong)
