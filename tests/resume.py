"""`--resume`: leaves out the nightly tests that have passed since the last run without it."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """What a night can be told."""
    parser.addoption("--resume", action="store_true", help="leave out nightly tests that passed before")


def pytest_configure(config: pytest.Config) -> None:
    """Passes are kept in the cache of pytest, where there is one."""
    if config.pluginmanager.has_plugin("cacheprovider"):
        config.pluginmanager.register(Resume(config), "resume-nightly")


class Resume:
    """Writes down each nightly test that passed, at once, so that a killed run loses none."""

    def __init__(self, config: pytest.Config) -> None:
        self._cache = config.cache
        self._resume = config.getoption("resume")
        self._writes = not hasattr(config, "workerinput")

    @property
    def _file(self) -> Path:
        return Path(self._cache.mkdir("nightly")) / "passed"

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Takes out what has passed."""
        if not self._resume or not self._file.exists():
            return
        passed = set(self._file.read_text().splitlines())
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in passed])
        items[:] = [item for item in items if item.nodeid not in passed]

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """A run from the start forgets what had passed, if it is one of nightly tests."""
        nightly = any(item.get_closest_marker("nightly") for item in session.items)
        if self._writes and nightly and not self._resume and not session.config.option.collectonly:
            self._file.unlink(missing_ok=True)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Notes a pass."""
        if self._writes and report.when == "call" and report.passed and "nightly" in report.keywords:
            with self._file.open("a") as file:
                file.write(report.nodeid + "\n")
