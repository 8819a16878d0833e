"""A mount namespace of our own, held open by one small process: what is mounted in it, nobody else sees.

Mounts in it need no undoing: with its last process they are gone, and with them their loop devices. A
namespace that somebody else makes meanwhile takes no copy of them along, which would keep a file system that
we unmount alive. An ordinary user gets one inside a user namespace; memory can be mounted there, and what is
served in user space.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from refute.nemesis.errors import FaultUnavailableError, NemesisError
from refute.system.process_table import ProcessId, identify, is_alive

_COMMAND_WITHIN_S = 30.0


@dataclass(frozen=True, slots=True)
class Namespace:
    """A namespace by the process that holds it; `own_users` where it is inside a user namespace."""

    holder: ProcessId
    own_users: bool

    @property
    def alive(self) -> bool:
        """Whether its holder still runs."""
        return is_alive(self.holder)

    def words(self) -> tuple[str, ...]:
        """The words before a command that runs in it."""
        target = ("nsenter", f"--target={self.holder.pid}")
        users = ("--user", "--preserve-credentials") if self.own_users else ()
        return (*target, *users, "--mount", "--")

    def outside(self, path: Path) -> Path:
        """Where a path of the namespace is found from outside. Never resolve it: symlinks leave it."""
        return Path(f"/proc/{self.holder.pid}/root").joinpath(*path.parts[1:])

    def run(self, *argv: str, environment: Mapping[str, str] | None = None) -> None:
        """Run a command in it. Raises NemesisError with what it said."""
        try:
            done = subprocess.run(
                [*self.words(), *argv],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_COMMAND_WITHIN_S,
                env={**os.environ, **(environment or {})},
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NemesisError(f"{argv[0]}: {error}") from error
        if done.returncode != 0:
            raise NemesisError(f"{' '.join(argv[:2])}: {_last_words(done.stderr)}")


class Holder:
    """The process that holds a namespace open; it ends by itself when we do.

    Raises FaultUnavailableError where this user can make none.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        own_users = os.geteuid() != 0
        users = ("--user", "--map-root-user") if own_users else ()
        argv = ("unshare", *users, "--mount", "--propagation=private", "--", "sh", "-c", "echo up; exec cat")
        try:
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,  # the end of this pipe is its end
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**os.environ, **environment},
                start_new_session=True,
                text=True,
            )
        except OSError as error:
            raise FaultUnavailableError(f"no mount namespace: {error}") from error
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        identity = identify(self._process.pid)
        if self._process.stdout.readline() != "up\n" or identity is None:
            self._process.kill()
            said = self._process.communicate()[1]
            raise FaultUnavailableError(f"no mount namespace can be made: {_last_words(said)}")
        self.namespace = Namespace(identity, own_users)

    def close(self) -> None:
        """Let the namespace go; returns when its holder is gone."""
        self._process.kill()
        self._process.communicate()


def _last_words(said: str) -> str:
    lines = [line for line in said.splitlines() if line.strip() and "dmesg" not in line]
    return lines[-1].strip() if lines else "no word"
