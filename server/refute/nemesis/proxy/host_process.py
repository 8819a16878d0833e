"""The proxy host as its owner sees it: a process that is started, asked, and ended."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from refute.interpreter import python
from refute.nemesis.errors import NemesisError
from refute.nemesis.process.undo import handle_of
from refute.nemesis.proxy.control import Control
from refute.nemesis.proxy.shapes import Links
from refute.nemesis.proxy.undo import VERBS
from refute.nemesis.undo import Undo
from refute.system.process_table import ProcessId, identify, is_alive

_GONE_WITHIN_S = 5.0


class HostProcess:
    """A proxy host with these listeners (see `host.Host`) and directed links; any thread may ask it.

    `addresses` are where it listens, in the order of the listeners. Raises NemesisError where it does not
    start; nothing of it is left then.
    """

    def __init__(
        self,
        listeners: Sequence[Mapping[str, Any]],
        links: Links,
        *,
        environment: Mapping[str, str],
        log: Path,
    ) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="refute-"))  # a path of a socket has to be short
        self._process: subprocess.Popen[str] | None = None
        self._control: Control | None = None
        owner = identify(os.getpid())
        assert owner is not None
        configuration = {
            "owner": [owner.pid, owner.started],
            "control": str(self.control_path),
            "listeners": listeners,
            "links": links,
        }
        try:
            self._process, self.addresses = _start(configuration, environment, log)
            self.identity = identify(self._process.pid) or ProcessId(self._process.pid, 0)
            self._control = Control(self.control_path)
        except BaseException:
            self.close()
            raise

    @property
    def control_path(self) -> Path:
        """Its control socket, for whoever else has to ask it."""
        return self.folder / "control"

    def resources(self) -> Mapping[str, Undo]:
        """What it has taken, by name, for the ledger."""
        return {
            "proxy host": Undo("end", handle_of(self.identity, [])),
            "its socket": Undo("remove-socket", {"folder": str(self.folder)}),
        }

    def ask(self, do: str, **fields: Any) -> dict[str, Any]:
        """Its answer. Raises NemesisError where it refuses or is gone."""
        if self._control is None or not is_alive(self.identity):
            raise NemesisError("the proxy host is gone")
        return self._control.ask(do, **fields)

    def close(self) -> int | None:
        """Let it leave, or end it, and remove its socket; its exit code, None where it never ran."""
        if self._control is not None:
            with suppress(NemesisError):  # gone already
                self._control.ask("exit")
            self._control.close()
            self._control = None
        if self._process is not None:
            try:
                self._process.wait(_GONE_WITHIN_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        VERBS["remove-socket"].undo({"folder": str(self.folder)})
        return None if self._process is None else self._process.returncode


def _start(
    configuration: Mapping[str, Any], environment: Mapping[str, str], log: Path
) -> tuple[subprocess.Popen[str], list[str]]:
    with log.open("ab") as errors:
        process = subprocess.Popen(
            python("-m", "refute.nemesis.proxy.host"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=dict(environment),
            start_new_session=True,
        )
    assert process.stdin is not None and process.stdout is not None
    began = time.monotonic()
    try:
        process.stdin.write(json.dumps(configuration))
        process.stdin.close()
        line = process.stdout.readline()
        process.stdout.close()
        return process, json.loads(line)["addresses"]
    except (OSError, ValueError) as error:
        process.kill()
        process.wait()
        took = time.monotonic() - began
        raise NemesisError(f"the proxy host did not start ({took:.1f} s); see {log}") from error
