"""What goes wrong with faults, by whose fault it is."""

from __future__ import annotations

from refute.errors import InputError, RefuteError, UnavailableError


class NemesisError(UnavailableError):
    """A fault cannot be injected or healed on this machine now."""


class FaultInputError(InputError):
    """What was asked for is no fault, or not one that this system can have."""


class FaultUnavailableError(NemesisError):
    """This machine, or this user, cannot have a fault that a run wants; other scenarios may still run."""


class UnrecordedError(RefuteError):
    """Steps in the life of a fault are in no record, so that nothing can be concluded from the others."""

    exit_code = 69
