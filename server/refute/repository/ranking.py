"""Orders statements: what a sentence is worth, where it stands, and how much of its like came before."""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from refute.repository.facts import FileFacts
from refute.repository.file_kinds import role_of
from refute.repository.lexicon import CATEGORIES, categories_of_word
from refute.repository.sentences import words_of
from refute.repository.source_file import SourceFile
from refute.repository.statement import Statement

ROLE_WORTH = {
    "entry": 0.7,
    "document": 0.2,
    "reference": 0.0,
    "code": 0.0,
    "interface": 0.2,
    "settings": 0.4,
    "test": -1.2,
    "example": -1.6,
    "news": -2.2,
    "tooling": -1.5,
    "build": -2.5,
    "ci": -3.0,
}
CHANNEL_WORTH = {
    "document": 0.25,
    "doc-comment": 0.2,
    "code-comment": -0.2,
    "setting": 0.35,
    "error": -0.4,
    "assertion": -0.1,
    "test-name": 0.2,
    "log": -1.4,
    "code": -0.3,
}
# The most of any prefix that one channel may fill, so that test names do not drown documents.
CHANNEL_SHARE = {
    "document": 0.9, "doc-comment": 0.75, "code-comment": 0.6, "setting": 0.8, "error": 0.1,
    "assertion": 0.08, "test-name": 0.06, "log": 0.03, "code": 0.05,
}  # fmt: skip
_ASIDE = re.compile(
    r"(^|/)(cli|cmd|ctl|client|clients|ui|console|web|metrics?|logging|stats|compat|legacy|internal/testutil|mocks?|contributor[-_]?guide|contributing|triage|grammar|parser|admin-ui|reports?|proposals?|kips?|adr|faq)(/|$|\.)",
    re.I,
)
# What it sets is another program: a linter, a checker of licences, somebody else's server in a container.
_OF_OTHERS = re.compile(
    r"(^|/)(deny|clippy|rustfmt|typos|taplo|release-plz|renovate|codecov|lerna|turbo|phpstan|psalm|mkdocs)\.(ya?ml|toml|json5?|neon|xml)(\.dist)?$|"
    r"(^|/)\.[\w-]+(\.[\w-]+)*\.(ya?ml|toml|json|exs|cfg|ini)$|(^|/)(deployments?|docker-compose|compose)/.*\.(ya?ml|toml|ini|cnf|conf)$|"
    r"(^|/)[\w-]*(?:research|prior[-_]?art)[\w-]*\.(md|rst|txt|adoc)$|(^|/)upgrad(?:e|ing)[\w-]*\.(md|rst|txt|adoc)$",
    re.I,
)  # fmt: skip
_TELLING = re.compile(
    r"guarante|consisten|reliab|durab|persist|order|semantic|fail|deliver|ack|safe|isolation|atomic|lock|timeout|retr|"
    r"recover|replicat|lease|transaction|unique|idempot|duplicat|stall|shutdown|limit|election|quorum|session|watch|"
    r"visibility|crash|loss|conflict|commit|member|snapshot|sync|expir", re.I)  # fmt: skip
_OURSELVES = re.compile(r"\b(we|our|us)\b", re.I)
_ROOT = re.compile(r"^[^/]+$")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A statement in its file, with the worth that its place gives it."""

    path: str
    blob: str
    statement: Statement
    worth: float


def candidates(files: Iterable[tuple[SourceFile, FileFacts]]) -> list[Candidate]:
    """Every statement with its worth, best first; O(n log n) in the number of statements."""
    found: list[Candidate] = []
    for file, facts in files:
        role = role_of(file.path)
        strong = sum(1 for row in facts.statements if row.score >= 4.5)
        central = (
            min(0.16 * math.log1p(strong), 0.7)
            if role in ("code", "document", "entry", "interface", "settings")
            else 0.0
        )
        place = ROLE_WORTH.get(role, -1.0) + central + path_worth(file.path)
        for row in facts.statements:
            channel = CHANNEL_WORTH.get(row.channel, 0.0)
            if row.channel == "test-name":
                channel += 1.2
            heading = 0.4 if _TELLING.search(row.heading.rsplit(" > ", 1)[-1] or row.symbol) else 0.0
            found.append(
                Candidate(file.path, file.blob, row, row.score + place + channel + heading + _manner(row))
            )
    found.sort(key=lambda row: (-row.worth, row.path, row.statement.line))
    return found


def _manner(row: Statement) -> float:
    """How it is said: notes of programmers to themselves are worth less, promises about data a bit more."""
    worth = (
        0.2
        if CATEGORIES[row.category] == "idempotency"
        else 0.1
        if CATEGORIES[row.category] == "durability"
        else 0.0
    )
    if row.channel != "document" and _OURSELVES.search(row.text):
        worth -= 0.35
    return worth - (0.25 if len(row.text) > 400 else 0.0)


def path_worth(path: str) -> float:
    """How much the path alone says that this is the heart of the product."""
    worth = 0.0
    topics = {
        at
        for word in words_of(
            path.rsplit("/", 2)[-1] if path.count("/") < 2 else "/".join(path.split("/")[-2:])
        )
        for at, weight in categories_of_word(word)
        if weight >= 2
    }
    worth += 0.2 if topics else 0.0
    if _ASIDE.search(path):
        worth -= 0.5
    if _OF_OTHERS.search(path):
        worth -= 2.0
    if _ROOT.match(path):
        worth += 0.2
    return worth


def ranked(clusters: Sequence[Sequence[Candidate]], limit: int) -> list[Sequence[Candidate]]:
    """The clusters in the order to show them, at most `limit`.

    A greedy choice: each next one is the best after what has been taken of its file, its section and its
    channel. The worth of a candidate only falls, so a heap with lazy updates is enough: O(n log n) steps
    for the few that are taken.
    """
    of_file: Counter[str] = Counter()
    of_section: Counter[tuple[str, str]] = Counter()
    of_channel: Counter[str] = Counter()
    waiting: dict[str, list[tuple[float, int]]] = defaultdict(list)
    heap = [(-_best(cluster), at) for at, cluster in enumerate(clusters)]
    heapq.heapify(heap)
    taken: list[Sequence[Candidate]] = []
    while len(taken) < limit and (heap or any(waiting.values())):
        if not heap:
            for rows in waiting.values():
                for row in rows:
                    heapq.heappush(heap, row)
            waiting.clear()
            of_channel.clear()
            continue
        worth, at = heapq.heappop(heap)
        head = clusters[at][0]
        section = (head.path, head.statement.symbol or head.statement.heading)
        now = _best(clusters[at]) - 0.05 * math.log1p(of_file[head.path]) - 0.06 * of_section[section]
        if heap and now < -heap[0][0] - 1e-9 and now < -worth - 1e-9:
            heapq.heappush(heap, (-now, at))
            continue
        channel = head.statement.channel
        if of_channel[channel] > CHANNEL_SHARE.get(channel, 0.3) * (len(taken) + 12):
            waiting[channel].append((-now, at))
            continue
        taken.append(clusters[at])
        of_file[head.path] += 1
        of_section[section] += 1
        of_channel[channel] += 1
        for name, rows in waiting.items():
            if rows and of_channel[name] <= CHANNEL_SHARE.get(name, 0.3) * (len(taken) + 12):
                for row in rows:
                    heapq.heappush(heap, row)
                rows.clear()
    return taken


def _best(cluster: Sequence[Candidate]) -> float:
    """The worth of the head, and a little for each further file that says the same."""
    return cluster[0].worth + 0.15 * min(len({row.path for row in cluster}) - 1, 3)
