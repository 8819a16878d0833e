"""Sends a request a second time, because a fault of the client plane asks for it, and counts."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass

from refute.nemesis.client.rules import ClientRule, ClientRules
from refute.workload.http_connection import HttpConnection, NotSentError, UnansweredError


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request as it went over the wire."""

    node: str
    address: tuple[str, int]
    method: str
    message: bytes


def send_copy(rules: ClientRules, rule: ClientRule, request: SentRequest, timeout_s: float) -> None:
    """The same bytes on a connection of their own, in the background. What is answered is nobody's answer."""
    held = ExitStack()
    held.enter_context(rules.sending(rule.fault))  # before the thread runs: a heal waits for it

    def work() -> None:
        with held:
            time.sleep(rule.after_s)
            connection = HttpConnection(*request.address)
            try:
                connection.exchange(request.message, request.method, time.monotonic() + timeout_s)
                rules.count(rule.fault, request.node, "sent")
                rules.count(rule.fault, request.node, "answered")
            except UnansweredError:
                rules.count(rule.fault, request.node, "sent")
            except NotSentError:
                pass
            finally:
                connection.close()

    threading.Thread(target=work, name=f"copy-{rule.fault}", daemon=True).start()
