"""Draws the map of a repository: its parts, its surfaces, its machinery, and where to begin to read."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable

from refute.repository.file_kinds import PROSE, language_of, role_of
from refute.repository.models import Component, MapItem, Place, RepositoryMap
from refute.repository.notices import notices
from refute.repository.snapshot import RepositorySnapshot
from refute.repository.survey import Survey, survey

_SURFACES = ("rpc", "rest", "listener", "cli", "wire format", "disk format")
KINDS = (
    *_SURFACES,
    "persistence",
    "replication",
    "background",
    "auth",
    "observability",
    "isolation",
    "acknowledgement",
    "fault hook",
    "switch",
    "fail-open",
)
_ENTRY_POINT = re.compile(
    r"(^|/)(main|__main__|server|cli|app|index|mod|lib)\.(go|rs|py|c|cc|cpp|ts|js|rb|java|kt|groovy|scala|zig|swift)$|(^|/)cmd/[^/]+/[^/]+\.go$|(^|/)bin/[^/.]+$|"
    r"(^|/)(program\.cs|(?<!model/)(?<!models/)(?<!entity/)(?<!domain/)(\w+)?application\.(java|kt|groovy|scala)|application\.ex|(manage|wsgi|asgi)\.py|config\.ru)$",
    re.I,
)
_HIDDEN = re.compile(r"(^|/)\.(?!github/|claude/)[^/]+/")
_ENTRY_DOCUMENT = re.compile(
    r"(^|/)(README|AGENTS|CLAUDE|ARCHITECTURE|DESIGN|SPECIFICATION|INTERNALS|OVERVIEW|CONTRIBUTING)(\.\w+)?$",
    re.I,
)
_MOST_ITEMS_A_KIND = 12


def map_repository(snapshot: RepositorySnapshot) -> RepositoryMap:
    """The map of a snapshot: components by folder, surfaces and machinery with the lines that show them."""
    surveyed = survey(snapshot)
    languages: Counter[str] = Counter()
    for file, facts in surveyed.files:
        if language_of(file.path) not in ("other", "text"):
            languages[facts.language] += facts.lines
    components = _components(surveyed)
    items = [*_entry_points(snapshot), *_items(surveyed)]
    present = {item.kind for item in items}
    return RepositoryMap(
        name=snapshot.name,
        commit=snapshot.label,
        languages=dict(languages.most_common(15)),
        files=len(snapshot.files),
        components=tuple(components),
        entry_documents=tuple(_entry_documents(snapshot)),
        items=tuple(items),
        diagram=_diagram(snapshot.name, components, items),
        absent=tuple(kind for kind in KINDS if kind not in present),
        left_out=surveyed.left_out,
        without_grammar=surveyed.without_grammar,
        notes=notices(snapshot),
    )


def _entry_documents(snapshot: RepositorySnapshot) -> list[Place]:
    found = [
        file.path
        for file in snapshot.files
        if _ENTRY_DOCUMENT.search(file.path)
        and not _HIDDEN.search(file.path)
        and role_of(file.path) not in ("vendored", "test")
    ]
    found.sort(key=lambda path: (path.count("/"), path))
    return [Place(path=path, line=1, end_line=1) for path in found[:15]]


def _entry_points(snapshot: RepositorySnapshot) -> list[MapItem]:
    found = [
        file.path
        for file in snapshot.files
        if _ENTRY_POINT.search(file.path) and role_of(file.path) in ("code", "tooling", "data")
    ]
    found.sort(key=lambda path: (role_of(path) == "tooling", path.count("/"), path))
    return [
        MapItem(kind="entry point", name=_folder_of(path, 2), path=path, line=1, end_line=1)
        for path in found[:_MOST_ITEMS_A_KIND]
    ]


def _folder_of(path: str, depth: int) -> str:
    return "/".join(path.split("/")[:-1][:depth]) or "."


def _components(surveyed: Survey) -> list[Component]:
    """Folders of code, two deep where the first holds most of it; of whatever is there where no code is."""
    lines: Counter[str] = Counter()
    roles = {role_of(file.path) for file, _ in surveyed.files}
    counted = ("code", "interface") if "code" in roles else tuple(roles - {"ci", "news", "test"})
    for file, facts in surveyed.files:
        if role_of(file.path) in counted:
            lines[_folder_of(file.path, 1)] += facts.lines
    total = sum(lines.values()) or 1
    depth = {folder: 2 if count > 0.25 * total and folder != "." else 1 for folder, count in lines.items()}
    groups: dict[str, list[int]] = defaultdict(list)
    for at, (file, _) in enumerate(surveyed.files):
        top = _folder_of(file.path, 1)
        groups[_folder_of(file.path, depth.get(top, 1))].append(at)
    found = []
    for folder, rows in groups.items():
        code = [at for at in rows if role_of(surveyed.files[at][0].path) in counted]
        if not code:
            continue
        marks = Counter(kind for at in code for kind, _, _ in surveyed.files[at][1].marks)
        spoken = Counter(surveyed.files[at][1].language for at in code)
        found.append(
            Component(
                path=folder,
                files=len(code),
                lines=sum(surveyed.files[at][1].lines for at in code),
                languages=tuple(name for name, _ in spoken.most_common(3)),
                purpose=_purpose(surveyed, rows, folder),
                marks={kind: count for kind, count in marks.most_common(6) if kind != "switch"},
                tests=sum(len(surveyed.files[at][1].tests) for at in rows),
            )
        )
    found.sort(key=lambda part: -part.lines)
    return found[:25]


def _purpose(surveyed: Survey, rows: Iterable[int], folder: str) -> str:
    """The first thing that the folder's README or package comment says which was worth keeping."""
    for at in rows:
        file, facts = surveyed.files[at]
        name = file.path.rsplit("/", 1)[-1].lower()
        if file.path.rpartition("/")[0] in (folder, "" if folder == "." else folder) and name.startswith(
            ("readme", "doc.", "lib.rs", "mod.rs", "__init__", "package-info")
        ):
            for row in facts.statements:
                if row.channel in ("document", "doc-comment", "code-comment") and row.line < 60:
                    return row.text[:160]
    return ""


def _items(surveyed: Survey) -> list[MapItem]:
    found: dict[str, list[tuple[float, str, int, str]]] = defaultdict(list)
    for file, facts in surveyed.files:
        role = role_of(file.path)
        if role not in ("code", "interface", "tooling", "settings") or language_of(file.path) in PROSE:
            continue
        density = Counter(kind for kind, _, _ in facts.marks)
        for kind, line, shown in facts.marks:
            comment = shown.lstrip().startswith(("//", "#", "*", "--", "/*"))
            worth = (
                density[kind]
                - file.path.count("/") * 0.4
                - (2.0 if role == "tooling" else 0.0)
                - (1.5 if comment and kind != "fault hook" else 0.0)
            )
            found[kind].append((worth, file.path, line, shown))
    items = []
    for kind in KINDS:
        files: dict[str, list[tuple[float, str, int, str]]] = {}
        for row in sorted(found.get(kind, ()), key=lambda row: (-row[0], row[1], row[2])):
            files.setdefault(row[1], []).append(row)
        for path, rows in list(files.items())[:_MOST_ITEMS_A_KIND]:
            _, _, line, shown = rows[0]
            also = tuple(Place(path=path, line=other[2], end_line=other[2]) for other in rows[1:4])
            items.append(
                MapItem(
                    kind=kind,
                    name=_folder_of(path, 2),
                    path=path,
                    line=line,
                    end_line=line,
                    shown=shown,
                    also_at=also,
                )
            )
    return items


def _diagram(name: str, components: list[Component], items: list[MapItem]) -> str:
    """Blocks from the clients down to the disk; each line names the folders where that layer shows."""

    def where(*kinds: str) -> str:
        folders = dict.fromkeys(item.name for item in items if item.kind in kinds)
        return ", ".join(list(folders)[:5])

    layers = [
        ("clients", "command line, libraries", where("cli", "entry point")),
        ("surfaces", "RPC, REST, listeners, wire formats", where("rpc", "rest", "listener", "wire format")),
        ("guards", "tenancy, authentication", where("auth")),
        ("core", "the largest components", ", ".join(part.path for part in components[:5])),
        ("agreement", "replication, consensus", where("replication")),
        ("delivery", "acknowledgement, isolation", where("acknowledgement", "isolation")),
        ("background", "timers, workers", where("background")),
        ("storage", "persistence, on-disk formats", where("persistence", "disk format")),
        ("watch", "metrics, traces, health", where("observability")),
    ]
    rows = [f"[{layer}] {what}: {folders}" for layer, what, folders in layers if folders]
    return f"{name}\n" + "\n   |\n".join(rows)
