"""The volumes of a run: one file system a node, made before the nodes start, gone after them."""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from refute.history.fault import Reading
from refute.nemesis.errors import FaultUnavailableError, NemesisError
from refute.nemesis.plane import Site
from refute.nemesis.process.undo import handle_of
from refute.nemesis.storage.media import suitable
from refute.nemesis.storage.medium import Medium
from refute.nemesis.storage.namespace import Holder
from refute.nemesis.storage.volume import Volume
from refute.nemesis.undo import Undo, left_after
from refute.system.placement import NodePlacement
from refute.system.process_table import family

_COUNTED_FILES = 1000

# Where the volume is not mounted the node must not write to the directory beneath: it does not start.
_ENTER = (
    'cd "$1" && [ -f "$2" ] || { echo "refute: the volume of this node is not mounted" >&2; exit 69; }; '
    'shift 2; exec "$@"'
)


class Volumes:
    """One volume a node, in a namespace that ends with us."""

    def __init__(self, site: Site, medium: type[Medium]) -> None:
        """Make and mount them. Raises FaultUnavailableError; then nothing of them is left."""
        self._cluster = site.cluster
        self._holder = Holder(site.environment)
        namespace = self._holder.namespace
        self.of: dict[str, Volume] = {}
        self._undos: list[Undo] = []
        site.ledger.resource("volumes", Undo("end", handle_of(namespace.holder, [])))
        try:
            for node in site.cluster.spec.everyone:
                made_of = medium.at(site.run_dir / "storage", node, f"{site.ledger.run}/volume-{node}")
                for undo in made_of.undos():
                    site.ledger.resource(f"{undo.verb} of {node}", undo)
                    self._undos.append(undo)
                self.of[node] = Volume.create(namespace, site.cluster.root / "data" / node, made_of)
        except BaseException:
            self.close()
            raise

    @classmethod
    def for_faults(cls, site: Site, kinds: Collection[str]) -> Volumes:
        """On the best medium that works here. Raises FaultUnavailableError with what failed of each."""
        refused = []
        for medium in suitable(kinds, root=os.geteuid() == 0, only=site.file_system):
            try:
                return cls(site, medium)
            except FaultUnavailableError as error:
                refused.append(f"{medium.name}: {error}")
        raise FaultUnavailableError("; ".join(refused) or no_medium(kinds, site.file_system))

    def placement(self, node: str) -> NodePlacement:
        """What makes a node keep its data on its volume."""
        volume = self.of[node]
        cwd = volume.data if self._cluster.spec.cwd is None else self._cluster.working_directory(node)
        enter = ("sh", "-c", _ENTER, "refute-volume", str(cwd), str(volume.marker))
        words = (*volume.namespace.words(), *enter)
        if volume.namespace.own_users:  # inside, the user is root, which some programs refuse to be
            words += ("unshare", "--user", f"--map-user={os.getuid()}", f"--map-group={os.getgid()}", "--")
        return NodePlacement(prefix=words, inside=words, data=volume.data)

    def require_used(self, node: str) -> None:
        """Raise NemesisError where the process of a node sees another file system in its data directory."""
        process = self._cluster.nodes.get(node)
        if process is None or not process.running:
            return
        volume = self.of[node]
        with suppress(PermissionError):
            try:
                seen = seen_by(process.pid, volume.data).stat().st_dev
            except FileNotFoundError:
                seen = -1
            if seen != volume.device():
                raise NemesisError(
                    "its data directory is not on its volume as it sees it",
                    where=node,
                    hint="another plane has started it in a mount namespace of its own",
                )

    def in_use(self, node: str) -> int:
        """Files of the node on its volume: held open by its processes, or there in its data directory."""
        volume, process = self.of[node], self._cluster.nodes.get(node)
        held = 0
        if process is not None and process.running:
            inside = f"{volume.mount}/"
            for member in family(process.pid):
                with suppress(OSError), os.scandir(f"/proc/{member.pid}/fd") as handles:
                    held += sum(_points_into(handle.path, inside) for handle in handles)
        return held + (_count_files(volume.namespace.outside(volume.data)) if volume.is_mounted() else 0)

    def measure(self) -> Mapping[str, Reading]:
        """How much of each volume is in use."""
        return {f"{node}.storage.in_use": self.in_use(node) for node in self.of}

    def close(self) -> None:
        """Unmount, end the namespace, remove what carried them; after the nodes have ended."""
        for volume in self.of.values():
            with suppress(NemesisError):  # with the namespace it goes all the same
                volume.detach()
        self._holder.close()
        remove(self._undos)


def seen_by(pid: int, path: Path) -> Path:
    """A path as a process sees it."""
    return Path(f"/proc/{pid}/root").joinpath(*path.parts[1:])


def no_medium(kinds: Collection[str], only: str | None) -> str:
    """Why no file system can be tried for these faults."""
    if only is not None:
        return f"{' and '.join(sorted(kinds))} cannot be had by {only} and this user"
    return "it needs root: only root can mount an ext4 image here"


def remove(undos: Sequence[Undo]) -> None:
    """Remove what carried a volume, last made first. Raises NemesisError with what is left."""
    left = [still for undo in reversed(undos) if (still := left_after(undo.as_json()))]
    if left:
        raise NemesisError("; ".join(left))


@contextmanager
def volume_for_probing(medium: type[Medium]) -> Iterator[Volume]:
    """A volume that belongs to no node, to try a fault on. Raises FaultUnavailableError."""
    with tempfile.TemporaryDirectory(prefix="refute-probe-") as place:
        folder = Path(place).resolve()
        holder = Holder({})
        made_of = medium.at(folder, "probe", f"probe-{uuid.uuid4().hex}/volume")
        volume = None
        try:
            volume = Volume.create(holder.namespace, folder / "mount", made_of)
            yield volume
        finally:
            try:
                if volume is not None:
                    volume.detach()
            finally:
                holder.close()
                remove(made_of.undos())


def _points_into(handle: str, inside: str) -> bool:
    try:
        return os.readlink(handle).startswith(inside)  # noqa: PTH115 (called for every open file, all the time)
    except OSError:
        return False


def _count_files(folder: Path) -> int:
    count = 0
    for _, _, files in os.walk(folder):
        count += len(files)
        if count >= _COUNTED_FILES:
            return _COUNTED_FILES
    return count
