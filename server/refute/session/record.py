"""The session directory: where everything of one run of a plan is kept, and its index, `session.json`."""

from __future__ import annotations

import datetime
import shutil
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from refute import __version__
from refute.session.attempt_spec import AttemptSpec
from refute.session.errors import SessionError
from refute.session.files import digest, fresh_folder, read_json, write_json, write_text

# What a person or a later judgement may add or write anew; everything else is evidence and is digested.
# Reductions are notes: no verdict is computed from them.
_NOT_EVIDENCE = (
    *("session.json", "session-log.md", "status.json", "report.html"),
    *("reduced.jsonl", "reduced.html", "reduced.json"),
)
REDUCTIONS = "reductions"
"""The folder of a session in which smaller scenarios are looked for; nothing in it is evidence."""


class ScenarioEntry(BaseModel):
    """The index on one scenario; `lowered` is a verdict that somebody put below the computed one."""

    model_config = ConfigDict(extra="forbid")

    id: str
    name: str
    folder: str
    falsifies: tuple[str, ...] = ()
    verdict: str = "NOT-RUN"
    rate: tuple[int, int] | None = None
    lowered: str | None = None
    lowered_because: str | None = None


class SessionIndex(BaseModel):
    """`session.json`. `files` maps each recorded file to its digest, once the session is sealed."""

    model_config = ConfigDict(extra="forbid")

    format: str = "refute session"
    version: int = 1
    refute_version: str = __version__
    plan: str
    plan_path: str
    slug: str
    plan_digest: str
    budget: Literal["smoke", "hardening", "release"]
    seed: int
    variables: dict[str, str] = Field(default_factory=dict)
    started: str
    ended: str | None = None
    state: Literal["running", "complete", "cancelled", "failed"] = "running"
    owner: dict[str, Any] = Field(default_factory=dict)
    scenarios: dict[str, ScenarioEntry] = Field(default_factory=dict)
    files: dict[str, str] = Field(default_factory=dict)


class Session:
    """One session directory. The folder is the truth; this object only knows its way around in it."""

    def __init__(self, folder: Path, index: SessionIndex) -> None:
        self.folder = folder
        self.index = index

    @classmethod
    def create(cls, root: Path, index: SessionIndex, plan_text: str) -> Session:
        """Makes `root/<slug>/<UTC>/` with the plan in it. Raises SessionError where it cannot be written."""
        parent = root / index.slug
        try:
            folder = fresh_folder(parent)
        except OSError as error:
            raise SessionError(
                f"cannot make a session folder: {error.strerror}",
                where=parent,
                hint="name another place with --session-root",
            ) from None
        session = cls(folder, index)
        write_text(folder / "plan.md", plan_text)
        session.save()
        session.log(f"session of plan {index.slug}, budget {index.budget}, seed {index.seed}")
        return session

    @classmethod
    def open(cls, folder: Path) -> Session:
        """The session in that folder. Raises SessionError where there is none or its index is damaged."""
        path = folder / "session.json"
        if not path.is_file():
            raise SessionError("this is not a session: it has no session.json", where=folder)
        try:
            return cls(folder, SessionIndex.model_validate(read_json(path)))
        except ValidationError as error:
            first = error.errors()[0]
            what = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
            raise SessionError(f"the index is damaged: {what}", where=path) from None

    def save(self) -> None:
        """Writes the index."""
        write_json(self.folder / "session.json", self.index.model_dump(mode="json"))

    def log(self, text: str) -> None:
        """Adds a line to the session's log, which is for people."""
        stamp = datetime.datetime.now(datetime.UTC).strftime("%H:%M:%S")
        with (self.folder / "session-log.md").open("a", encoding="utf-8") as stream:
            stream.write(f"- {stamp} {text}\n")

    def scenario_folder(self, scenario: str) -> Path:
        """Where the attempts of a scenario are."""
        return self.folder / "scenarios" / scenario

    def attempt_folder(self, scenario: str, arm: str, attempt: str) -> Path:
        """Where one attempt is recorded: `scenarios/<id>[/<arm>]/<attempt>`."""
        folder = self.scenario_folder(scenario)
        return folder / _safe(arm) / attempt if arm else folder / attempt

    def attempts(self, scenario: str) -> list[Path]:
        """The folders of a scenario's attempts, in the order in which they were made.

        A folder that never got its specification is one that a kill cut off at birth: it holds nothing.
        """
        folders = (path.parent for path in self.scenario_folder(scenario).rglob("spec.yaml"))
        return sorted(folders, key=lambda folder: (AttemptSpec.read(folder / "spec.yaml").order, str(folder)))

    def recorded_files(self) -> dict[str, str]:
        """The digest of every file of evidence that is in the folder now."""
        return {
            path.relative_to(self.folder).as_posix(): digest(path)
            for path in sorted(self.folder.rglob("*"))
            if path.is_file() and not path.is_symlink() and self._is_evidence(path)
        }

    def seal(self, state: Literal["complete", "cancelled", "failed"]) -> None:
        """Ends the session: from now on every recorded file is known by its digest."""
        self.index.state = state
        self.index.ended = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        self.index.files = self.recorded_files()
        self.save()

    def _is_evidence(self, path: Path) -> bool:
        relative = path.relative_to(self.folder)
        if relative.parts[0] == REDUCTIONS:
            return False
        return relative.name not in _NOT_EVIDENCE and "data" not in relative.parts and path.suffix != ".sock"


def _safe(name: str) -> str:
    kept = "".join(letter if letter.isalnum() or letter in "=._-" else "_" for letter in name)
    return kept[:120] or "_"


def remove_data(folder: Path) -> None:
    """Removes the nodes' data directories of an attempt; they are not evidence and may be large."""
    shutil.rmtree(folder / "data", ignore_errors=True)
