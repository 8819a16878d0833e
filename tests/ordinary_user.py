"""Running a command of the tests as an ordinary user, where the tests themselves run as root."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

NOBODY = 65534
CHECKOUT = Path(__file__).parents[1]

# An interpreter below /root is out of reach for others. In a mount namespace of its own the way to it is laid open:
# an empty directory stands in for the closed one, with nothing below it but what is needed.
_OPEN_THE_WAY = """
set -e
closed=$1; shift
kept=$(mktemp -d)
n=0; for path in $1; do n=$((n + 1)); mkdir "$kept/$n"; mount --bind "$path" "$kept/$n"; done
mount -t tmpfs -o mode=755 tmpfs "$closed"
n=0; for path in $1; do n=$((n + 1)); mkdir -p "$path"; mount --bind "$kept/$n" "$path"; umount "$kept/$n"; rmdir "$kept/$n"; done
rmdir "$kept"
shift
exec "$@"
"""


@contextmanager
def open_home() -> Iterator[Path]:
    """A directory in which an ordinary user may write; those of pytest are for their owner only."""
    made = Path(tempfile.mkdtemp(prefix="refute-nobody-"))
    made.chmod(0o777)
    try:
        yield made
    finally:
        shutil.rmtree(made)


# Where a package manager has put a rule for it, /dev/fuse is for everybody; here it may be root's. Nobody else sees this one.
_FUSE_FOR_ALL = """
set -e
kept=$(mktemp -d)
mount -t tmpfs -o mode=755 tmpfs "$kept"
mknod -m 666 "$kept/fuse" c 10 229
mount --bind "$kept/fuse" /dev/fuse
umount --lazy "$kept"; rmdir "$kept"
exec "$@"
"""

# In a user namespace that allows no further one, and without a right in it.
_NO_NAMESPACES = [
    *("unshare", "--user", "--map-current-user", "--keep-caps", "sh", "-c"),
    'echo 0 >/proc/sys/user/max_user_namespaces && exec setpriv --inh-caps=-all --ambient-caps=-all "$@"',
    "sh",
]


def run_as_ordinary_user(
    command: Sequence[str], home: Path, timeout_s: float, *, namespaces: bool = True, fuse: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run a command of this interpreter in the checkout, with `home` as its home."""
    refused = [] if namespaces else _NO_NAMESPACES
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    words = as_ordinary_user([*refused, sys.executable, "-B", *command])
    if fuse and os.geteuid() == 0:
        words = ["unshare", "--mount", "--propagation", "private", "sh", "-c", _FUSE_FOR_ALL, "sh", *words]
    return subprocess.run(
        words,
        cwd=CHECKOUT,
        env=environment | {"HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def run_tests_as_ordinary_user(tests: str, timeout_s: float, *, fuse: bool = False) -> str:
    """Run a test file, or one test of it, as an ordinary user; what pytest said. Fails where it did not pass.

    With `fuse` the user may open /dev/fuse, as on most desktops.
    """
    options = ["-q", "-s", "-m", "systems", "-p", "no:cacheprovider"]
    with open_home() as home:
        command = ["-m", "pytest", *options, "--basetemp", str(home / "tests"), tests]
        done = run_as_ordinary_user(command, home, timeout_s, fuse=fuse)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return done.stdout


def as_ordinary_user(command: Sequence[str]) -> list[str]:
    """The command as somebody without any right beyond his own."""
    if os.geteuid() != 0:
        return list(command)
    dropped = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *command]
    needed = [Path(sys.base_prefix).resolve(), CHECKOUT.resolve()]
    closed = {top for path in needed for top in [_first_closed(path)] if top}
    if not closed:
        return dropped
    assert len(closed) == 1, f"more than one closed directory on the way: {closed}"
    below = [str(path) for path in needed if path.is_relative_to(next(iter(closed)))]
    private = ["unshare", "--mount", "--propagation", "private", "sh", "-c", _OPEN_THE_WAY, "sh"]
    return [*private, str(next(iter(closed))), " ".join(below), *dropped]


def _first_closed(path: Path) -> Path | None:
    for folder in (*reversed(path.parents), path):
        if not folder.stat().st_mode & 0o001:
            return folder
    return None
