"""Rules on rigour: what 7.M says, how widely a plan looks, what a timeout means, what steps expect."""

from __future__ import annotations

import re
from collections.abc import Iterator

from refute.plan.families import Path, faults_of, steps_of
from refute.plan.fault_words import sizes_told
from refute.plan.labels import RIGOUR
from refute.plan.rules.outcomes import answers_taken_for_failures, prose_of
from refute.plan.rules.rule import SEVEN_M, Hit, Review, categories_of, rule, seven_m
from refute.plan.step import OperationStep

SERIOUS = frozenset({"safety", "durability", "idempotency", "isolation", "ordering", "membership"})


def _serious(review: Review, scenario: str) -> list[str]:
    claims = review.claims_of(review.plan.scenarios[scenario])
    return [claim.id for claim in claims if SERIOUS & set(categories_of(claim))]


@rule(
    "serious-claim-without-7M",
    "error",
    why=(
        "for a promise about data a reviewer must see model, history, checker, nemesis and what a timeout "
        "means"
    ),
    mend=(
        "add a heading `#### 7.M` below the scenario's block, and below that a row or an item for each part: "
        "model, history, checker, nemesis, landing evidence, ambiguous outcomes, reduction"
    ),
)
def serious_claim_without_7m(review: Review) -> Iterator[Hit]:
    """A scenario on a serious claim has no 7.M."""
    for scenario, block in review.scenarios:
        serious = _serious(review, scenario.id)
        if serious and seven_m(review.plan, scenario.id) is None:
            yield (
                block.line,
                block.section,
                scenario.id,
                f"{scenario.id} judges {', '.join(serious)} without a 7.M",
            )
    for trial in review.told:
        serious = [claim.id for claim in review.claims_of(trial) if SERIOUS & set(categories_of(claim))]
        if serious and not set(RIGOUR) & set(trial.parts):
            yield trial.line, trial.section, trial.id, f"{trial.id} judges {', '.join(serious)} without a 7.M"


@rule(
    "incomplete-7M",
    "error",
    why="the part that is left out is the one that nobody decided",
    mend="add the missing rows",
)
def incomplete_7m(review: Review) -> Iterator[Hit]:
    """A 7.M leaves out one of its parts."""
    for scenario, _ in review.scenarios:
        said = seven_m(review.plan, scenario.id)
        if said is None or not _serious(review, scenario.id):
            continue
        faulty = any(True for _ in faults_of(scenario))
        needed = [name for name in SEVEN_M if faulty or name not in ("nemesis", "landing evidence")]
        if missing := [name for name in needed if name not in said]:
            part = next(part for part in review.plan.parts(scenario.id) if part.number == "7.M")
            yield part.line, "7.M", scenario.id, f"7.M says nothing on {', '.join(missing)}"
    for trial in review.told:
        serious = any(SERIOUS & set(categories_of(claim)) for claim in review.claims_of(trial))
        if not serious or not set(RIGOUR) & set(trial.parts):
            continue
        # That words of faults and oracles are missing is said by rules of their own.
        if missing := [name for name in RIGOUR if name not in trial.parts]:
            line = min(trial.parts[name][1] for name in RIGOUR if name in trial.parts)
            yield line, trial.section, trial.id, f"7.M says nothing on {', '.join(missing)}"


@rule(
    "timeout-counted-as-failure",
    "error",
    why=(
        "a write that timed out may have happened: counted as failed, it makes a right answer look wrong, "
        "or hides a lost one"
    ),
    mend="leave such statuses unknown, and say in 7.M that a timeout is info",
)
def timeout_counted_as_failure(review: Review) -> Iterator[Hit]:
    """A timeout, or a status that says as little, is counted as a failure."""
    for name, system in review.plan.systems.items():
        block = review.plan.system_blocks[name]
        for client_name, client in system.clients.items():
            for kind, operation in client.http.operations.items() if client.http else ():
                if kind in ("read", "get", "list", "scan"):
                    continue  # a read that failed changed nothing
                for status in operation.fail:
                    if str(status) in ("408", "500", "502", "504", "5xx", "5XX"):
                        path = ("clients", client_name, "http", "operations", kind)
                        what = f"{kind}: status {status} is counted as fail; the write may have happened"
                        yield block.line_of(*path), block.section, name, what
    for section in review.plan.sections:
        if section.number in ("2", "3", "6", "7", "7.M", "7b") or section.scenario:
            text = prose_of(section)
            for place, said in answers_taken_for_failures(text):
                line = section.line + len(re.findall(r"\r\n|\r|\n", text[:place]))
                yield line, section.number, section.scenario, said[:80]


@rule(
    "one-topology",
    "warning",
    why="three nodes have one majority: five, or a learner, or two zones fail in other ways",
    mend="describe a second system in 6b, or name the topologies left out in 7c, 7d or 8",
)
def one_topology(review: Review) -> Iterator[Hit]:
    """Every scenario runs on systems of one size, and nothing says that others are left out."""
    sizes = {len(system.nodes) for system in review.plan.systems.values()}
    if review.told and not sizes:
        sizes = sizes_told(review.text_of("0", "1", "2", "6b", "7"))
    said = re.search(
        r"topolog|five nodes|5 nodes|cluster size|larger cluster|more nodes|zones?\b|single node",
        review.text_of("7c", "7d", "8"),
        re.I,
    )
    if review.trials and len(sizes) == 1 and not said:
        block = next(iter(review.plan.system_blocks.values()), None)
        section = review.plan.section("6b")
        line = block.line if block else section.line if section else 0
        yield line, "6b", "", f"every scenario runs on {sizes.pop()} nodes"


@rule(
    "write-expects-nothing",
    "warning",
    why="a write that sets the state up may have failed, and the sequence goes on without its state",
    mend=(
        "write expect: ok where the sequence needs it, expect: [ok, unknown] where it does not, and "
        "[ok, fail, unknown] where even a refusal is an answer"
    ),
)
def write_expects_nothing(review: Review) -> Iterator[Hit]:
    """A write of a directed sequence says nothing of what it expects."""
    for scenario, block in review.scenarios:
        for step, path in steps_of(scenario):
            if not isinstance(step, OperationStep) or step.kind in ("read", "get", "list", "scan"):
                continue
            if step.expect == ("any",) and not step.background:
                yield block.line_of(*path), block.section, scenario.id, f"{step.kind} expects nothing"


_READS = ("read", "get", "list", "scan")


@rule(
    "read-expects-nothing",
    "warning",
    why="if it fails, the sequence goes on, and its checker has nothing to judge",
    mend="write expect: ok at the read that must come back, or add final reads",
)
def read_expects_nothing(review: Review) -> Iterator[Hit]:
    """No read of a key in a directed sequence has to succeed, though it is asked of nodes without a fault."""
    for scenario, block in review.scenarios:
        if scenario.workload or scenario.final:
            continue
        # A node that a fault has hit may rightly refuse.
        hit = {fault.alias for fault, _ in faults_of(scenario) if fault.alias}
        expecting: dict[str, bool] = {}
        first: dict[str, Path] = {}
        for step, path in steps_of(scenario):
            if isinstance(step, OperationStep) and step.kind in _READS and step.via not in hit:
                key = str(step.key)
                expecting[key] = expecting.get(key, False) or step.expect != ("any",)
                first.setdefault(key, path)
        for key, expects in expecting.items():
            if not expects:
                what = f"no read of {key!r} has to succeed"
                yield block.line_of(*first[key]), block.section, scenario.id, what


@rule(
    "scenario-name",
    "warning",
    why="a verdict is read by its name: it should say which promise held or broke",
    mend="name it after the claim that it tries to falsify, as a statement: no_acknowledged_write_is_lost",
)
def scenario_name(review: Review) -> Iterator[Hit]:
    """A scenario is not named after its claim."""
    for trial in review.trials:
        words = _stems(trial.name)
        claims = review.claims_of(trial)
        said = set().union(*(_stems(claim.text) for claim in claims)) if claims else words
        if len(words) < 2 or not words & said:
            said_there = "; ".join(f"{claim.id} ({claim.text[:60]})" for claim in claims[:3])
            what = f"{trial.name!r} shares no word with {said_there}"
            block = review.plan.scenario_blocks.get(trial.id)
            yield block.line_of("name") if block else trial.line, trial.section, trial.id, what


_STOP = frozenset(
    [
        "the",
        "a",
        "an",
        "of",
        "and",
        "or",
        "in",
        "on",
        "to",
        "by",
        "for",
        "with",
        "is",
        "are",
        "its",
        "it",
        "that",
        "this",
        "be",
        "any",
        "all",
        "no",
        "not",
        "test",
        "after",
        "under",
        "from",
        "at",
        "one",
    ]
)


def _stems(text: str) -> set[str]:
    words = re.findall(r"[^\W\d_]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", text).lower())
    return {_stem(word) for word in words if word not in _STOP and len(word) > 2}


def _stem(word: str) -> str:
    return re.sub(r"(?:ically|ability|izable|ations?|ables?|ings?|ness|ed|es|ly|s|e)$", "", word)[:7]
