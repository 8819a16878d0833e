"""An ext4 file system in an image file, on a loop device: the kernel's own loss of power. Needs root."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from refute.nemesis.errors import FaultUnavailableError, NemesisError
from refute.nemesis.storage.namespace import Namespace
from refute.nemesis.undo import Undo
from refute.nemesis.waiting import within

IMAGE_BYTES = 1 << 30

_SHUTDOWN = 0x8004587D  # EXT4_IOC_SHUTDOWN, of linux/fs/ext4/ext4.h
_NO_LOG_FLUSH = (2).to_bytes(4, "little")
_BUSY_FOR_S = 10.0


@dataclass(frozen=True, slots=True)
class Ext4Image:
    """The image file of one volume."""

    name: ClassVar[str] = "ext4"
    needs_root: ClassVar[bool] = True

    image: Path

    @classmethod
    def at(cls, folder: Path, name: str, mark: str) -> Self:  # noqa: ARG003 (a verb of all media)
        """`NAME.img` in the folder."""
        return cls(folder / f"{name}.img")

    @classmethod
    def of_handle(cls, handle: Mapping[str, Any]) -> Self:
        """The one that a handle names."""
        return cls(Path(handle["image"]))

    def handle(self) -> Mapping[str, Any]:
        """Its file."""
        return {"image": str(self.image)}

    def undos(self) -> Sequence[Undo]:
        """The file is removed."""
        return (Undo("remove-image", self.handle()),)

    def make(self) -> None:
        """Make the file and a file system in it."""
        self.image.parent.mkdir(parents=True, exist_ok=True)
        maker = shutil.which("mkfs.ext4", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
        if maker is None:
            raise FaultUnavailableError("mkfs.ext4 is not installed", hint="it is in the package e2fsprogs")
        with self.image.open("xb") as file:
            file.truncate(IMAGE_BYTES)
        options = "lazy_itable_init=1,lazy_journal_init=1,nodiscard"
        done = subprocess.run(
            [maker, "-q", "-F", "-m", "0", "-E", options, str(self.image)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise NemesisError(f"mkfs.ext4: {done.stderr.strip()[-200:]}")

    def attach(self, namespace: Namespace, mount: Path) -> None:
        """Mount it; a journal that is not clean is replayed."""
        options = "loop,errors=remount-ro"
        namespace.run("mount", "-t", "ext4", "-o", options, str(self.image), str(mount))

    def wait_until_released(self) -> None:
        """Until its loop device is gone."""
        if not within(_BUSY_FOR_S, lambda: not loops_of(self.image)):
            raise NemesisError(f"{', '.join(loops_of(self.image))} still holds {self.image}")

    def shut_down(self, root: Path) -> None:
        """The shutdown ioctl of ext4, without a flush of its journal."""
        handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.ioctl(handle, _SHUTDOWN, _NO_LOG_FLUSH)
        except OSError as error:
            raise NemesisError(f"the file system cannot be shut down: {error.strerror}") from error
        finally:
            os.close(handle)

    def counts(self, root: Path) -> Mapping[str, int]:  # noqa: ARG002 (a verb of all media)
        """The kernel counts nothing for us."""
        return {}


def loops_of(image: Path) -> list[str]:
    """The loop devices that are backed by this file."""
    found = []
    for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
        with suppress(OSError):
            if backing.read_text().strip().removesuffix(" (deleted)") == str(image):
                found.append(backing.parent.parent.name)
    return found


def remove_image(image: Path) -> None:
    """Remove an image file, and its folder with the last one."""
    image.unlink(missing_ok=True)
    with suppress(OSError):
        image.parent.rmdir()
