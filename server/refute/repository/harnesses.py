"""Tells by its name what a file or folder is to somebody who tests: a harness, a hook, a runbook, a tool."""

# ruff: noqa: E501  (a table of patterns is read by its rows)

from __future__ import annotations

import re
from functools import lru_cache

# What a harness is called, the most telling first. Patterns meet names as `spoken` says them: the words of
# identifiers in small letters with a space between, so that "default" holds no fault and "operators" no operator.
HARNESSES: tuple[tuple[str, re.Pattern[str]], ...] = tuple((kind, re.compile(rf"\b(?:{words})\b")) for kind, words in (
    ("linearizability", r"jepsen|bank|lineari[sz]\w*|elle|knossos|porcupine|robustness|consistency (?:test|check)\w*|maelstrom|serializability"),
    ("simulation", r"simulat\w*|antithesis|dst|determinis\w*|madsim|turmoil|loom|shuttle|vopr|interaction env|model check\w*|detsim|simnet|\w*sim"),
    ("fault-injection", r"faults?|faulty|fail ?points?|chaos|fail ?overs?|nemes[ie]s|toxiproxy|local tester|kill(?! switch)(?:s|ed|er|ing)?|partition(?:s|ed|ing)?|"
                        r"crash\w*|disrupt\w*|lazyfs|gofail|operations|split brain|byteman|buggify|sabotage|netem|blockade|recover(?:y|s|ing)?|"
                        r"resilien\w*|disconnect\w*|\w+ inject\w*|inject\w* (?:fault|error|fail|delay|latenc|crash)\w*|gremlins?|monkey|byzantine|corrupt\w*|black ?hole\w*|power (?:loss|failure)|torn|churn|"
                        r"instability|unstable|isolat(?:ed|e)|unreachable|minority|failures?|downing|rejoin\w*|flaky network"),
    ("fuzz", r"fuzz\w*|proptest|quick ?check|property (?:based )?tests?|prop|swarm|hypothesis|stateful test"),
    ("e2e", r"e2e|end to end|smoke|acceptance|system tests?|ducktape|ducktests?|stress|soak|torture|longevity|endurance|upgrade tests?|rolling (?:upgrade|update)s?|"
            r"regression|long (?:running|haul)|reliability|mixed (?:brain|versions?|clusters?|modes?)"),
    ("integration", r"integration|itest|functional|clusters?|clustering|sentinel|compat\w*|multi ?(?:node|jvm|process|server|broker)|it|tck|conformance|testkit"),
    ("benchmark", r"\w*bench\w*|perf|performance|load (?:test|gen)\w*|loadgen|jmh|throughput|ycsb"),
))  # fmt: skip
_STRONG = re.compile(
    r"\b(?:chaos|jepsen|nemesis|lineari[sz]\w*|faults?|fail ?points?|crash\w*|split brain|partitions?|kill(?! switch)\w*|corrupt\w*|stress|torture|soak|"
    r"simulat\w*|fuzz\w*|surviv\w*|instability|random\w*|fail ?over|recover\w*|inject\w*|gremlin|monkey|power|minority|black ?hole|churn|"
    r"prop|robustness|upgrade|io fail\w*|error handler|nodes? (?:down|failure)|unreachable|isolation|consistency)\b")  # fmt: skip
_TELLING = re.compile(
    r"\b(?:recover\w*|dedup\w*|redeliver\w*|idempot\w*|restart\w*|reconnect\w*|rebalanc\w*|snapshot\w*|membership|reconfig\w*|elections?|no ?race|"
    r"durab\w*|atomic\w*|downgrade|shutdown|paper|retr(?:y|ies)|leases?|quorum\w*|disconnect\w*|flow control|cluster\w*|raft\w*|paxos|consensus|"
    r"replicat\w*|leaders?|fenc\w*|fail(?:ure|ed|s|ing)?|pauses?|suspend\w*|resume|slow\w*|delay\w*|hung|hang|stall\w*|truncat\w*|majority|dead letter\w*|"
    r"transaction\w*|exactly once|conflict\w*|races?|concurren\w*|rollback|savepoint|checkpoint\w*|wal|journal|handoff|migrat\w*|takeover|split|merge|"
    r"persist\w*|timeouts?|watch|linear\w*|read index|stale|clock|skew|orphan\w*|acks?|delivery|dlq)\b")  # fmt: skip
# A file without tests that harnesses are made of.
_PART = re.compile(
    r"\b(?:chaos|fault|nemesis|fail ?points?|toxiproxy|fuzz\w*|inject\w*|gremlin|monkey|sync ?points?|fake (?:disk|fs|clock|network)|"
    r"(?:mock|fake|flaky|faulty|failing|slow|lossy|simulated|unreliable) \w*(?:network|transport|disk|storage|fs|journal|store|clock|rpc|log)|"
    r"bank|test ?(?:hooks?|extensions?|only|support)|for test(?:s|ing)|black ?hole\w*|mini \w* ?cluster|test cluster|cluster (?:harness|fixture|for test\w*)|conductor|crash ?points?|(?:throttl\w*|drop\w*|partition\w*) transport\w*|transport simulat\w*|"
    r"conformance|suite|tck|torture|buggify|^testing$)\b")  # fmt: skip
_INJECTS_FAULTS = re.compile(r"\b(?:fault\w*|errors?|fail\w*|delays?|latenc\w*|crash\w*|chaos|io|network|disk) inject\w*|inject\w* (?:fault|error|fail|delay|latenc|crash)\w*")  # fmt: skip
_BREAKS = re.compile(
    r"\b(?:chaos|faults?|faulty|nemes[ie]s|fail\w*|toxiproxy|fuzz\w*|inject\w*|gremlins?|monkey|sync ?points?|flaky|slow|lossy|unreliable|"
    r"black ?hole\w*|crash\w*|throttl\w*|drop\w*|partition\w*|torture|buggify|test ?hooks?)\b")  # fmt: skip
# In a test folder, what tests are driven by.
_DRIVER = re.compile(r"\b(?:harness\w*|fixtures?|steps?|test ?bed|sandbox|one ?box|clusters?(?: \w+)?|mock\w*|\w+ mock|drivers?|recorders?|proxy util|server util|world)\b")  # fmt: skip
_ORACLE = re.compile(
    r"\b(?:invariants?|oracles?|checkers?|expected (?:state|values?)|validat(?:e|or|ion) (?:history|operations)|verifiers?|history check\w*|"
    r"model check\w*|event verifier|consistency check\w*)\b")  # fmt: skip
_DIAGNOSTIC = re.compile(
    r"\b(?:check ?disk|fsck|verif(?:y|ier)|dump\w*|inspect\w*|debug\w*|repair|log parser|parse\w* \w* ?log|doctor|diagnos\w*|sanity|fsync|analyz\w*|"
    r"corrupt\w* check\w*|scrub\w*|\w*dbg)\b")  # fmt: skip
_LOAD = re.compile(
    r"\b(?:load ?gen\w*|\w*bench\w*|perf|ycsb|load ?test\w*|stress|locust\w*|gatling|vegeta)\b"
)
_RUNBOOK = re.compile(
    r"\b(?:post ?mortems?|runbooks?|playbooks?|operat(?:ions?|ing|ions? guide)|dev ?ops|troubleshoot\w*|disaster|recovery|failures?|fail ?over|workers|"
    r"admin\w*|maintenance|monitoring|upgrad\w+|downgrad\w+|backups?|restore|production|deploy\w*|sentinel|capacity|tuning|faq|ha|incidents?|internals|"
    r"split brain|fault tolerance|data loss|high availability|durability|consistency|repair|rolling updates?|scaling|sre|limits|reliability|safety|failure modes?|dlq|dead letters?|hazards?)\b")  # fmt: skip
_HOW_TESTED = re.compile(
    r"\b(?:tests?|testing|stress test|chaos|jepsen|fault injection|simulation|fuzz\w*|how we test|multi (?:node|jvm) testing|robustness|verification)\b"
)
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+(?:2e)?|\d+")
_EDGES = {"e 2 e": "e2e", "e 2e": "e2e", "no race": "norace"}
# words of harnesses that mean something else: a container that wires objects, a phone on a desk
_OTHERWISE = re.compile(
    r"\b(?:dependency|dependencies|constructor|parameters?|service|property|method|bean) inject\w*|\binject(?:able|s|ions?|or)?(?= (?:provider|token|scope|container|module)\b)|"
    r"\b(?:ios|tvos|watchos|visionos|[a-z]+ ?os) simulator\b"
)


@lru_cache(maxsize=65536)
def spoken(name: str) -> str:
    """The words of a file or folder name, without its extension: `TestSplitBrain_v2.go` is "test split brain v 2"."""
    stem = name.rsplit("/", 1)[-1]
    stem = stem.rsplit(".", 1)[0] if "." in stem.lstrip(".") else stem
    words = " ".join(_WORDS.findall(stem)).lower()
    for cut, whole in _EDGES.items():
        words = words.replace(cut, whole)
    return _OTHERWISE.sub("wiring", words)


def harness_of(name: str) -> str | None:
    """The kind of harness that a file or folder name speaks of."""
    words = spoken(name)
    return next((kind for kind, pattern in HARNESSES if pattern.search(words)), None)


@lru_cache(maxsize=65536)
def telling(name: str) -> float:
    """How much a name says of faults and guarantees: 1 for each word about faults, a half for each guarantee; at most 3."""
    words = spoken(name)
    strong, told = set(_STRONG.findall(words)), set(_TELLING.findall(words))
    return min(3.0, len(strong) + 0.5 * len(told - strong))


def is_part_of_a_harness(name: str, *, of_product: bool = False) -> bool:
    """Whether the name is that of a fault, a fake or a fixture that tests are built from.

    In the code of a product, what is injected must be a fault: strategies and stages are injected, too.
    """
    found = {part for part in _PART.findall(spoken(name)) if not (of_product and part.startswith("inject"))}
    return bool(found) or bool(of_product and _INJECTS_FAULTS.search(spoken(name)))


def breaks_things(name: str) -> bool:
    """Whether the name is that of something that breaks a system, and not only tests it."""
    return bool(_BREAKS.search(spoken(name)))


def drives_tests(name: str) -> bool:
    """Whether, in a folder of tests, the name is that of what starts or drives the system."""
    return bool(_DRIVER.search(spoken(name)))


def is_oracle(name: str, *, of_product: bool = False) -> bool:
    """Whether the name is that of something that judges what was recorded.

    In the code of a product, Oracle is a database, and an expected state one that a store compares with.
    """
    found = _ORACLE.findall(spoken(name))
    return any(not (of_product and part.startswith(("oracle", "expected"))) for part in found)


def is_diagnostic(name: str) -> bool:
    """Whether the name is that of a program that looks into what a node left behind."""
    return bool(_DIAGNOSTIC.search(spoken(name)))


def makes_load(name: str) -> bool:
    """Whether the name is that of a load generator."""
    return bool(_LOAD.search(spoken(name)))


def guide_of(path: str) -> str:
    """What a document guides: "operating", "testing" or nothing; its name first, then the folder that it is in."""
    folder, _, name = path.rpartition("/")
    if _RUNBOOK.search(spoken(name)):
        return "operating"
    if _HOW_TESTED.search(spoken(name)):
        return "testing"
    parent = spoken(folder.rsplit("/", 1)[-1] + ".") if folder else ""
    return "operating" if _RUNBOOK.search(parent) else "testing" if _HOW_TESTED.search(parent) else ""
