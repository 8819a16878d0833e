"""Tells whether a job that runs by itself reaches a test: yes, no, or that it cannot be told, and by what."""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace

from refute.repository.ci_commands import Follower
from refute.repository.ci_jobs import MOST_STEPS, steps_in
from refute.repository.ci_steps import Answer
from refute.repository.file_kinds import role_of
from refute.repository.fingerprint import room_version
from refute.repository.snapshot import RepositorySnapshot
from refute.repository.source_file import SourceFile
from refute.repository.store import FactStore
from refute.repository.test_runs import TestRun

_MOST_BYTES = 400_000
_BUILD_FILES = re.compile(
    r"(^|/)(GNUmakefile|[Mm]akefile|package\.json|composer\.json|tox\.ini|setup\.cfg|pyproject\.toml|noxfile\.py|pytest\.ini|Rakefile|[Cc]argo\.toml|action\.ya?ml|[\w.-]+\.mk)$"
)
_SCRIPT = re.compile(
    r"\.(?:sh|bash)$|(?:^|/)(?:ci|scripts?|bin|tools?|hack|dev|build|test|tests|\.ci)/[\w-]+$|^(?:runtest[\w-]*|[\w-]*test[\w-]*|ci|build)$"
)
_TAGS = re.compile(r"^//go:build (.+)$|^// \+build (.+)$", re.M)
_GIVEN_TAGS = re.compile(r"\b(?:linux|amd64|unix|cgo|gc|go1\.\d+|arm64|darwin|windows|race|ignore)\b")


@dataclass(frozen=True, slots=True)
class Reach:
    """Whether a test is run in CI; `by` is the line of the job that runs it, or why it cannot be told."""

    answer: Answer
    by: str = ""


@dataclass(frozen=True)
class CiReach:
    """What the jobs of a repository run, and the packages that their commands name."""

    runs: tuple[TestRun, ...]
    perhaps: tuple[TestRun, ...]  # of jobs that run only under a condition which cannot be told
    unknown: tuple[str, ...]
    jobs: int
    packages: Mapping[str, str]  # folder of a Cargo.toml -> its package
    members: Mapping[str, bool]  # folder of a Cargo.toml -> whether it is a workspace
    excluded: tuple[str, ...]  # folders that a Cargo.toml excludes
    modules: tuple[str, ...]  # folders of a go.mod

    def of(self, path: str, tags: Callable[[], frozenset[str]]) -> Reach:
        """Whether a test in this file is run; `tags` gives the build tags that a file of Go asks for."""
        some = forgiven = ""
        for run in self.runs:
            answer = self._covers(run, path, tags)
            if answer == "yes" and not run.forgiven:
                return Reach("yes", run.place)
            if answer == "yes":
                forgiven = forgiven or f"{run.place}, where a failure is forgiven"
            if answer == "unknown" and not some:
                some = f"{run.place} runs only some of the tests there"
        if forgiven:
            return Reach("yes", forgiven)
        for run in self.perhaps:
            if self._covers(run, path, tags) != "no" and not some:
                some = f"{run.place} runs it under a condition that cannot be told"
        if some:
            return Reach("unknown", some)
        if self.unknown:
            telling = (
                why
                for why in self.unknown
                if re.search(r"test|check|recipe|target|run", why.partition(": ")[2])
            )
            return Reach("unknown", next(telling, self.unknown[0]))
        if not self.runs:
            return Reach(
                "unknown",
                "no job of this repository runs tests" if self.jobs else "no CI jobs in this repository",
            )
        return Reach("no")

    def _covers(self, run: TestRun, path: str, tags: Callable[[], frozenset[str]]) -> Answer:
        if run.tool.startswith("cargo"):
            return self._cargo(run, path)
        if (
            run.tool == "go"
            and path.endswith("_test.go")
            and self._module_of(path) != self._module_of(f"{run.folder}/x" if run.folder else "x")
        ):
            return "no"
        answer = run.covers(path)
        if answer == "yes" and run.tool == "go" and tags() - {*run.tags}:
            return "unknown" if any("$" in tag for tag in run.tags) else "no"
        return answer

    def _module_of(self, path: str) -> str:
        folder = posixpath.dirname(path)
        while folder and folder not in self.modules:
            folder = posixpath.dirname(folder)
        return folder

    def _cargo(self, run: TestRun, path: str) -> Answer:
        """`folder#package`: one package of the workspace, `#*` all of it, `#` what stands in the folder."""
        folder, _, asked = run.folder.partition("#")
        home = posixpath.dirname(path)
        while home not in self.packages and home:
            home = posixpath.dirname(home)
        if home not in self.packages:
            return "no"
        inside = not folder or home == folder or home.startswith(f"{folder}/")
        if asked not in ("", "*"):
            reached = self.packages[home] == asked
        elif folder in self.packages and self.packages[folder] and asked == "":
            reached = home == folder
        else:
            reached = inside and (home == folder or self.members.get(folder, False))
            left_out = any(f"{home}/".startswith(f"{one}/") for one in self.excluded)
            reached = reached and (home == folder or not left_out)
        return replace(run, folder=home).covers(path) if reached else "no"


def ci_reach(snapshot: RepositorySnapshot) -> CiReach:
    """What the jobs of the snapshot run; remembered by its tree."""
    parts = f"{snapshot.tree}\0{snapshot.label}\0{room_version()}"
    key = "ci:" + hashlib.sha256(parts.encode("utf-8", "replace")).hexdigest()
    if snapshot.repo is not None:
        with FactStore(snapshot.cache) as store:
            for _, text in store.get_many([key]):
                return _from_json(text)
    found, complete = _read(snapshot)
    if snapshot.repo is not None and complete:  # else what is missing may be there the next time
        with FactStore(snapshot.cache) as store:
            store.put_many([(key, json.dumps(asdict(found)))])
    return found


def _from_json(text: str) -> CiReach:
    held = json.loads(text)
    for name in ("runs", "perhaps"):
        held[name] = tuple(TestRun(**row | {"tags": tuple(row["tags"])}) for row in held[name])
    return CiReach(**held | {name: tuple(held[name]) for name in ("unknown", "excluded", "modules")})


def _is_opened(file: SourceFile) -> bool:
    path = file.path
    if file.size > _MOST_BYTES or re.search(r"(^|/)(node_modules|vendor|third[_-]party)/", path):
        return False
    return (
        role_of(path) == "ci"
        or "enkinsfile" in path
        or bool(_BUILD_FILES.search(path))
        or bool(_SCRIPT.search(path))
    )


def _read(snapshot: RepositorySnapshot) -> tuple[CiReach, bool]:
    """What the jobs run, and whether every file that was wanted could be read."""
    paths = frozenset(file.path for file in snapshot.files)
    of_ci = [file for file in snapshot.files if _is_opened(file)]
    if not any(role_of(file.path) == "ci" or "enkinsfile" in file.path for file in of_ci):
        of_ci = []
    texts = {file.path: data.decode("utf-8", "replace") for file, data in snapshot.contents(of_ci)}
    jobs = {
        path: text
        for path, text in texts.items()
        if role_of(path) == "ci" or "enkinsfile" in path or path.endswith(("action.yml", "action.yaml"))
    }
    follower = Follower(texts, paths)
    runs: dict[TestRun, None] = {}
    perhaps: dict[TestRun, None] = {}
    unknown: dict[str, None] = {}
    count = 0
    for step in steps_in(jobs):
        count += 1
        if step.automatic == "no":
            continue
        place = f"{step.path}:{step.line}"
        if step.why:
            unknown[f"{place}: {step.why}"] = None
            continue
        found = follower.follow(step.text, step.folder.removeprefix("./").rstrip("/").removeprefix("."))
        for run in found.runs:
            kept = runs if step.automatic == "yes" and not run.perhaps else perhaps
            kept[replace(run, place=place, forgiven=run.forgiven or step.forgiven)] = None
        unknown |= dict.fromkeys(f"{place}: {why}" for why in found.unknown)
    if count == MOST_STEPS:
        unknown["there are more jobs than are read"] = None
    cargo = {
        posixpath.dirname(path): text
        for path, text in texts.items()
        if path.rsplit("/", 1)[-1].lower() == "cargo.toml"
    }
    named = {
        folder: re.search(r"^\[package\][^[]*?^name\s*=\s*\"([^\"]+)\"", text, re.M | re.S)
        for folder, text in cargo.items()
    }
    reach = CiReach(
        runs=tuple(runs),
        perhaps=tuple(perhaps),
        unknown=tuple(unknown)[:20],
        jobs=count,
        packages={folder: found.group(1) if found else "" for folder, found in named.items()},
        members={folder: "[workspace]" in text for folder, text in cargo.items()},
        excluded=tuple(
            posixpath.normpath(posixpath.join(folder, one))
            for folder, text in cargo.items()
            for listed in re.findall(r"^exclude\s*=\s*\[([^\]]*)\]", text, re.M)
            for one in re.findall(r"[\"']([^\"'\n]+)[\"']", listed)
        ),
        modules=tuple(posixpath.dirname(path) for path in paths if path.rsplit("/", 1)[-1] == "go.mod"),
    )
    return reach, len(texts) == len(of_ci) and not snapshot.left_out.get("missing objects")


def build_tags(text: str) -> frozenset[str]:
    """The tags without which a file of Go is not built, as far as its first lines say."""
    found = _TAGS.search(text[:4_000])
    if not found:
        return frozenset()
    condition = found.group(1) or found.group(2)
    if "||" in condition:
        return frozenset()
    words = re.findall(r"(!?)\b([A-Za-z_][\w.]*)", condition)
    return frozenset(word for negated, word in words if not negated and not _GIVEN_TAGS.fullmatch(word))


class TestsInCi:
    """Whether each test file of a snapshot is run; each is asked about once, and read only if it is of Go."""

    __test__ = False

    def __init__(self, snapshot: RepositorySnapshot) -> None:
        self._snapshot = snapshot
        self._reach = ci_reach(snapshot)
        self._known: dict[str, Reach] = {}
        self._files = {file.path: file for file in snapshot.files}

    def of(self, path: str) -> Reach:
        """Whether the tests in this file are run, and by what."""
        if path not in self._known:
            self._known[path] = self._reach.of(path, lambda: self._tags_of(path))
        return self._known[path]

    def _tags_of(self, path: str) -> frozenset[str]:
        file = self._files.get(path)
        for _, data in self._snapshot.contents([file]) if file else ():
            return build_tags(data.decode("utf-8", "replace"))
        return frozenset()
