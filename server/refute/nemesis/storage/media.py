"""Which media there are, and which of them a run can use for the faults that it wants."""

from __future__ import annotations

from collections.abc import Collection

from refute.nemesis.storage.ext4_image import Ext4Image
from refute.nemesis.storage.medium import Medium, Memory
from refute.nemesis.storage.user_space.medium import UserSpace

MEDIA: dict[str, type[Medium]] = {medium.name: medium for medium in (Ext4Image, UserSpace, Memory)}


def suitable(kinds: Collection[str], *, root: bool, only: str | None = None) -> tuple[type[Medium], ...]:
    """The media that can have all of these faults, best first; `only` names the one that is asked for.

    >>> [medium.name for medium in suitable({"power-loss"}, root=False)]
    ['fuse']
    """
    able: tuple[type[Medium], ...] = (Ext4Image, Memory, UserSpace)
    if "read-only" in kinds:
        able = (Ext4Image,)
    elif "power-loss" in kinds:
        able = (Ext4Image, UserSpace)
    return tuple(medium for medium in able if (root or not medium.needs_root) and only in (None, medium.name))
