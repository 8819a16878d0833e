"""Rules on hypotheses: each is tethered to a claim, aimed, and used; known pitfalls were considered."""

from __future__ import annotations

import re
from collections.abc import Iterator

from refute.plan.citation import citations_in
from refute.plan.pitfalls import relevance
from refute.plan.rules.rule import Hit, Review, rule


@rule(
    "untethered-hypothesis",
    "error",
    why="a hypothesis that would falsify no claim is a test that nobody needs to pass",
    mend="name the claims that would be false, or drop it",
)
def untethered_hypothesis(review: Review) -> Iterator[Hit]:
    """A hypothesis names no claim."""
    for hypothesis in review.plan.hypotheses.values():
        if not hypothesis.claims:
            yield hypothesis.line, "4", hypothesis.id, f"{hypothesis.id} names no claim"


@rule(
    "hypothesis-without-scenario",
    "warning",
    why="a written suspicion that nothing tries reads like one that was tried",
    mend="name it in a scenario's hypotheses, or in 7c or 8 with the reason why it is not tried",
)
def hypothesis_without_scenario(review: Review) -> Iterator[Hit]:
    """No scenario tries a hypothesis, and 7c and 8 do not name it."""
    tried = {name for trial in review.trials for name in trial.hypotheses}
    elsewhere = review.text_of("7c", "8")
    for hypothesis in review.plan.hypotheses.values():
        if hypothesis.id not in tried and not review.names(elsewhere, hypothesis.id):
            yield hypothesis.line, "4", hypothesis.id, f"no scenario tries {hypothesis.id}"


@rule(
    "hypothesis-of-another-claim",
    "error",
    why="the scenario then aims at one promise and judges another",
    mend="let the scenario falsify a claim that its hypothesis names, or mend the hypothesis' claims",
)
def hypothesis_of_another_claim(review: Review) -> Iterator[Hit]:
    """A scenario names a hypothesis that is about none of its claims."""
    for trial in review.trials:
        for name in trial.hypotheses:
            hypothesis = review.plan.hypotheses.get(name)
            if hypothesis and hypothesis.claims and not set(hypothesis.claims) & set(trial.claims):
                what = (
                    f"{name} is about {', '.join(hypothesis.claims)}, {trial.id} about "
                    f"{', '.join(trial.claims) or 'none'}"
                )
                yield trial.line_of("hypotheses"), trial.section, trial.id, what


@rule(
    "claim-without-its-hypothesis",
    "warning",
    why="the claim is judged beside the suspicion that was meant for another",
    mend=(
        "name the hypothesis that says how this claim could be false, or test the claim in a scenario of "
        "its own"
    ),
)
def claim_without_its_hypothesis(review: Review) -> Iterator[Hit]:
    """A scenario falsifies a claim that none of its hypotheses is about."""
    for trial in review.trials:
        about = {
            claim
            for name in trial.hypotheses
            if name in review.plan.hypotheses
            for claim in review.plan.hypotheses[name].claims
        }
        for name in trial.claims if about else ():
            if name in review.plan.claims and name not in about:
                what = f"no hypothesis of {trial.id} is about {name}"
                yield trial.line_of("claims"), trial.section, trial.id, what


@rule(
    "scenario-without-hypothesis",
    "warning",
    why="without a suspicion nobody can say what the scenario would have found",
    mend="name the hypotheses of section 4 that it tries",
)
def scenario_without_hypothesis(review: Review) -> Iterator[Hit]:
    """A scenario names no hypothesis."""
    for trial in review.trials:
        if not trial.hypotheses and review.plan.hypotheses:
            yield trial.line, trial.section, trial.id, f"{trial.id} names no hypothesis"


@rule(
    "suspect-without-sequence",
    "error",
    why="a suspect place in the code is worth a sequence aimed at it: random faults rarely pass there",
    mend="write the sequence of steps that would show it",
)
def suspect_without_sequence(review: Review) -> Iterator[Hit]:
    """A hypothesis names a suspect place and no sequence that would show it."""
    for hypothesis in review.plan.hypotheses.values():
        if citations_in(hypothesis.suspect) and not hypothesis.sequence.strip(" -–—"):
            yield hypothesis.line, "4", hypothesis.id, f"{hypothesis.id} has a suspect and no aimed sequence"


_FILE = re.compile(
    r"(?<![\w/.])[\w./-]*\w\.(?:py|go|rs|java|kt|ts|js|mjs|c|cc|cpp|h|hpp|scala|clj|erl|ex|rb|cs"
    r"|zig)\b(?!:\d)"
)


@rule(
    "suspect-without-lines",
    "warning",
    why="a reviewer opens the place and looks: a file of a thousand lines is no place",
    mend="write path:lines@commit",
)
def suspect_without_lines(review: Review) -> Iterator[Hit]:
    """A suspect names a file and no lines in it."""
    for hypothesis in review.plan.hypotheses.values():
        if not citations_in(hypothesis.suspect) and (found := _FILE.search(hypothesis.suspect)):
            yield hypothesis.line, "4", hypothesis.id, f"{hypothesis.id}: {found[0]} at which lines?"


@rule(
    "suspect-without-condition",
    "warning",
    why=(
        "a line number alone is no suspicion: a reviewer must see what would have to be true for it to be "
        "wrong"
    ),
    mend="add to the suspect: wrong if …",
)
def suspect_without_condition(review: Review) -> Iterator[Hit]:
    """A suspect place does not say under which condition it is wrong."""
    said = re.compile(
        r"\b(?:if|when|unless|because|without|only|never|before|after|instead|should|would)\b", re.I
    )
    for hypothesis in review.plan.hypotheses.values():
        if citations_in(hypothesis.suspect) and not said.search(hypothesis.suspect):
            yield (
                hypothesis.line,
                "4",
                hypothesis.id,
                f"{hypothesis.id}: what would have to be true at that place?",
            )


@rule(
    "sequence-without-steps",
    "warning",
    why="an aimed sequence that is run as random load is not aimed any more",
    mend="write it as steps in the scenario",
)
def sequence_without_steps(review: Review) -> Iterator[Hit]:
    """A hypothesis has an aimed sequence, and every scenario that tries it is generated load."""
    for hypothesis in review.plan.hypotheses.values():
        trying = [scenario for scenario, _ in review.scenarios if hypothesis.id in scenario.hypotheses]
        aimed = citations_in(hypothesis.suspect) and hypothesis.sequence.strip(" -–—")
        if aimed and trying and not any(scenario.steps or scenario.nemesis for scenario in trying):
            yield hypothesis.line, "4", hypothesis.id, f"the sequence of {hypothesis.id} is in no scenario"


@rule(
    "pitfall-not-considered",
    "warning",
    why="other systems that promised the same broke in this way, in public",
    mend="write a hypothesis from it, or its id with the reason why it does not apply, in section 4",
)
def pitfall_not_considered(review: Review) -> Iterator[Hit]:
    """A pitfall of the catalog applies to these claims and section 4 does not name it."""
    considered = review.text_of("4", "7c", "8")
    section = review.plan.section("4")
    said = review.text_of("0", "1", "2")
    for pitfall in review.pitfalls:
        judged = relevance(pitfall, review.plan.claims.values(), said)
        if judged.verdict == "applies" and pitfall.id not in considered:
            what = f"{pitfall.id}: {pitfall.symptom} ({judged.reason})"
            yield section.line if section else 0, "4", "", what
