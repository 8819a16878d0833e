"""What tests of all rooms share: one failing session to tamper with, and marks of faults that are checked."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from refute.run.execute import run_plan
from refute.session.record import Session
from tests.fault_marks import broken_claims, claims_of, landings_read
from tests.resume import pytest_addoption, pytest_configure
from tests.run.plans import ISOLATED, write_plan

__all__ = ["pytest_addoption", "pytest_configure"]  # hooks of long nights


@pytest.fixture(scope="session")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """The bundled store as it ships: its deposed leader answers reads."""
    root = tmp_path_factory.mktemp("failing")
    return run_plan(write_plan(root, ISOLATED), seed=1, session_root=root / "sessions")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """A test that claims to show a fault landing, or not landing, has to have seen just that."""
    claims = claims_of(item)
    if not claims:
        yield
        return
    with landings_read() as answers:
        yield
    if broken := broken_claims(claims, answers):
        pytest.fail(f"marked as showing what it did not see: {broken}")
