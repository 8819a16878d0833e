"""One failing session of the bundled store, made once and copied by whoever tampers with it."""

from __future__ import annotations

import pytest

from refute.run.execute import run_plan
from refute.session.record import Session
from tests.run.plans import ISOLATED, write_plan


@pytest.fixture(scope="session")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """The bundled store as it ships: its deposed leader answers reads."""
    root = tmp_path_factory.mktemp("failing")
    return run_plan(write_plan(root, ISOLATED), seed=1, session_root=root / "sessions")
