"""The vocabulary of promises: which words belong to which category, and which ones promise something.

The lists are those of the field, not of one product. A stem ending in `*` matches every word that begins so.
"""

# ruff: noqa: E501  (a table of patterns is read by its rows)

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from refute.repository.sieve import Sieve

Category = Literal[
    "safety", "liveness", "durability", "performance", "operational", "idempotency", "isolation", "ordering",
    "membership", "boundary", "fairness",
]  # fmt: skip

CATEGORIES: tuple[Category, ...] = (
    "safety", "liveness", "durability", "performance", "operational", "idempotency", "isolation", "ordering",
    "membership", "boundary", "fairness",
)  # fmt: skip

# category -> {weight: words}
_WORDS: dict[str, dict[float, str]] = {
    "safety": {
        3: "linearizab* linearisab* mutual-exclusion consisten* inconsisten* split-brain splitbrain invariant* fencing fenced diverge* "
           "corrupt* conflict* byzantine equivocat* finaliz* finality unsafe agreement consensus",
        2: "balance balances overdraw* drift deterministic quorum* majority stale* staleness term terms epoch epochs leader leaders leadership commit commits committed committing "
           "uncommitted overwrit* checksum* checksums crc integrity safe safety safely tamper* "
           "vote votes voted voter exclusive mutual lock locks lease leases primary master safely lost-update",
        1: "replica replicas replicat* state log logs index match mismatch violat* wrong diverging primaries read reads index valid",
    },
    "liveness": {
        3: "liveness deadlock* livelock* hang hangs stuck stall* starvation unavailab* failover failovers "
           "progress election elections elect elected re-election availability reconnect* step-down",
        2: "resync* readonly read-only timeout timeouts heartbeat* retry retries retried retrying recover recovers recovered recovery block blocks blocked "
           "blocking eventually partition partitions partitioned unreachable disconnect* keepalive backoff "
           " alive available dead killed kill kills terminat* wait waits waiting forever indefinitely candidate  campaign* expire expires expired "
           "expiration ttl reap* orphan* stalled prevote unresponsive rejoin* disrupt* promot*",
        1: "follower followers down fail fails failed failure failures crash crashed detect* interval periodic* poll",
    },
    "durability": {
        3: "durab* fsync* fdatasync persist* wal aof rdb journal* write-ahead crash-safe stable-storage nondurable",
        2: "saved save saves stored deleted deletes deletion removed dead-letter dead-lettered deadletter* kept keep discard* orphan orphans orphaned evict evicted eviction pruned prune retain retained retention disk disks flush* sync synced snapshot snapshots snapshotted storage crash crashes crashed power reboot* lost lose loses losing loss "
           "survive survives surviv* restor* recover* backup* written unsynced compact* truncat* on-disk",
        1: "write writes restart restarts restarted file files store stores page restarts replay*",
    },
    "performance": {
        3: "latency throughput backpressure back-pressure overload* bandwidth slow slower congest* pipelining pipelined bounded unbounded",
        2: "limit limits limited buffer buffers buffered memory inflight in-flight batch batches batching maximum max "
           "size sizes cpu rate quota performance fast faster overhead capacity bytes prefetch* flow throttl* cost costs "
           "evict* maxmemory efficient* scal*",
        1: "mb kb ms milliseconds seconds second minutes number large small concurrency concurrently queue cache threads",
    },
    "operational": {
        3: "upgrade* downgrade* rollback rolling   compatib* incompatib* deprecat* migrat* version versions downtime "
           "graceful* shutdown shutting sigterm sigint sighup alert* monitor*",
        2: "restart restarts configur* config   setting settings flag flags operator operators  "
           " disabled   disable metric metrics log logged warn* deploy* backup backups maintenance health "
           "administrator* admin  environment startup   supported support drain* reload* signal signals cron* hook hooks",
        1: "default defaults enabled enable option options start boot manual manually parameter parameters run running production require requires required recommended file process port clock clocks",
    },
    "idempotency": {
        3: "re-issue* reissue* twice idempoten* exactly-once at-least-once at-most-once dedup* de-dup* deduplicat* redeliver* redelivery "
           "duplicate duplicates duplicated duplication unique uniqueness uniquely",
        2: "conflict conflicts retry retries retried ack acks acked acknowledge* acknowledgement* acknowledgment* nack requeue* re-queue* "
           "once twice again redundant dead-letter dead-lettered deadletter* idempotently deliver* delivery delivered re-execute* reexecut* visibility "
           "replayed resend* resent re-propose* ",
        1: "job jobs task tasks message messages nonce attempt attempts",
    },
    "isolation": {
        3: "transactionality all-or-none isolation serializab* transaction transactions transactional atomic atomically atomicity read-committed "
           "mvcc non-repeatable phantom dirty-read all-or-nothing serial serially rollback multi serialized interleav*",
        2: "concurrent concurrently visible visibility abort aborts aborted snapshot-isolation commit commits rolled "
           "committed uncommitted lock locks watch exec cas compare-and-swap race races",
        1: "read reads write writes client clients between",
    },
    "ordering": {
        3: "order ordered ordering orders reorder* re-order* out-of-order fifo lifo monoton* causal* happens-before sequence sequential* sequenced",
        2: "precede* earlier previous timestamp timestamps increasing decreas* consecutive contiguous gap gaps "
           "older newer revision revisions in-order offset offsets lamport",
        1: "next then subsequent before after later first last alphabetical",
    },
    "membership": {
        3: "member members membership learner learners joint voter voters non-voter nonvoter reconfigur* joining bootstrap* "
           "non-voting nonvoting witness confchange conf-change",
        2: "join joins   leaving peer peers        node nodes cluster clusters downed unreachable joiner joined   "
           "observer observers replacement demot* promote promotes promoted gossip discovery seed rebalanc* reassign* "
           "configuration configurations   slot slots shard shards topology",
        1: "remove removing removal server servers leave leaves ids new change changes replica replicas broker brokers",
    },
    "boundary": {
        3: "tenant tenants multi-tenan* tls authenticat* authoriz* unauthoriz* unauthenticat* permission* acl acls "
           "rbac encrypt* credential* password* sandbox* jwt certificate* nkey nkeys privilege* impersonat* forg*",
        2: "namespace namespaces account accounts user users role roles security secure insecure trust* untrusted "
           "access allowed denied deny denies token tokens protected untrust* signature* signed sign",
        1: "private export exports import imports client clients secret key",
    },
    "fairness": {
        3: "fair fairly fairness starve starved starves starvation noisy neighbor round-robin weighted weight weights unfair",
        2: "priority priorities evenly balanced balancing balancer* load-balanc* share shares sharing share proportion* rate-limit* "
           "throttl* strict per-user group groups distribute* spread",
        1: "queue queues consumers",
    },
}  # fmt: skip

# How strongly a sentence promises, requires or denies: each pattern counts once.
GUARANTEES: tuple[tuple[str, float, str], ...] = (
    ("must", 1.9, r"\b(must(?! have been)|shall|MUST)\b"),
    ("never", 2.6, r"\b(never|at no time|under no circumstances?|in no case)\b"),
    ("guarantee", 2.9, r"\b(guarante\w+|promis\w+|invariants?|assur\w+|provabl\w+)\b"),
    ("ensure", 1.0, r"\b(ensur\w+|make sure|makes sure|so that|prevent\w*|protect\w*|avoids?|avoiding|preserv\w+)\b"),
    ("always", 1.1, r"\b(always|every time|at all times|any time|exactly|all-or-nothing)\b"),
    ("only", 1.1, r"\bonly (?:if|when|after|once|until|the|one|a|be|by|from|on|in|for|committed|\w+ed)\b|\bonly \w+"),
    ("cannot", 1.5, r"\b(cannot|can ?not|can't|may not|must not|mustn't|won't|will not|should not|shouldn't|"
                    r"not allowed|not permitted|not safe|unsafe|isn't safe|impossible|no longer|does not|do not|"
                    r"doesn't|don't|is not|are not|isn't|aren't|not be|without|no guarantee|prohibit\w*|disallow\w*|forbid\w*)\b"),
    ("bound", 1.4, r"\b(at most|at least|no more than|no less than|no fewer|up to|minimum of|maximum of|exceed\w*|"
                   r"bounded|within|upper bound|lower bound|larger than|smaller than|greater than|less than|limited to|limit)\b"),
    ("loss", 2.1, r"\b((?:be|is|are|get|gets|was|were|been) (?:silently )?(?:lost|dropped|discarded|overwritten|corrupted|duplicated|"
                  r"reordered|redelivered|re-delivered|truncated|evicted|deleted|ignored|rejected|refused|retried|requeued|rolled back|"
                  r"killed|skipped)|data loss|los(?:e|es|ing|t)|stale|split[- ]brain|corrupt\w*|inconsisten\w+|diverge\w*|"
                  r"duplicates?|twice|out of order|race condition|deadlock\w*|double|partial(?:ly)?)\b"),
    ("unless", 1.8, r"\b(unless|except (?:if|when|for|that)|as long as|provided (?:that)?|so long as|regardless|even (?:if|when|though|in)|"
                    r"in the (?:event|case|face|presence) of|in case|assum\w+|otherwise)\b"),
    ("until", 1.05, r"\b(until|before|after|once|if|when|while|whenever|during)\b"),
    ("default", 1.7, r"\b(by default|defaults?(?: to| is|:)|default value|the default|disabled|opt-in|turned off|turned on)\b"),
    ("order", 1.9, r"\bin (?:\w+[- ]){0,3}order\b(?! to\b)|\bstrict(?:ly)? (?:fifo|lifo|serial|sequential|ordered|ordering)\b|\bone (?:at a time|after (?:the )?(?:other|another))\b"),
    ("spared", 1.9, r"\b(?:needs?|requires?|causes?|incurs?|takes?) no\b|\b(?:zero|no)[- ]downtime\b|\bwithout (?:any )?(?:downtime|interruption|data loss|losing)\b"),
    ("should", 0.4, r"\b(should|needs? to|have to|has to|requir\w+|recommend\w*|expected to|responsib\w+|caller|up to the)\b"),
    ("can fail", 1.0, r"\b((?:may|might|can|could) (?:be|not|still|cause|lead|result|lose|happen|fail|return|block|hang|temporarily|also|end|become)\b)"),
    ("acts", 1.0, r"\b(rejects?|refuses?|steps? down|fails?|panics?|aborts?|discards?|drops?|ignores?|expires?|redelivers?|retries|"
                  r"rolls? back|blocks?|waits?|stops?|terminates?|shuts? down|survives?|tolerates?|recovers?|restores?|detects?|"
                  r"acknowledges?|confirms?|persists?|flushes|commits?|releases?|acquires?|revokes?|evicts?|reverts?|reconnects?|"
                  r"promotes?|elects?|times? out|requeues?|throttles?|limits?|enforces?|provides?|supports?|allows?|works?|"
                  r"becomes? (?:an? |the )?(?:new )?(?:candidate|leader|follower|primary|master|replica|standby|read-?only|unavailable))\b"),
    ("warning", 1.4, r"\b(warning|caution|danger\w*|important|beware|caveat|note that|careful|NOTE)\b"),
    ("comparison", 1.2, r"(?<![-<>=])(<=|>=|==|≤|≥|!=)(?![<>=])"),
)  # fmt: skip

# Words of program mechanics: a sentence made of them is about code, not about what the product promises.
_MECHANICS = (
    "pointer pointers nil null nullptr struct structs callback callbacks malloc alloc* goroutine goroutines mutex "
    "macro macros compil* char chars string strings byte-slice iterator iterators template templates generic generics "
    "cast subclass superclass override overrides overridden interface interfaces implement* constructor destructor enum "
    "parameter parameters param argument arguments arg args return returns returned method methods class classes object objects "
    "function functions variable variables array arrays slice slices list lists map maps dict hash vector import package lint* "
    "parse parser parses parsing regex regexp json xml yaml html syntax encode* decode* utf unicode ascii "
    "ansi thread threads stack heap wrapper helper boilerplate todo fixme hack xxx refactor* nolint typescript javascript "
    "module modules typing annotation decorator mock mocks mocked stub fixture unittest testcase assert asserts "
    "bit bits integer int uint int64 boolean bool float double literal field fields property properties "
    "docs documentation readme article link links page example examples tutorial github issue pull request "
    "install installation download build builds makefile docker image brew npm pip gem bundle gradle maven "
    "sizeof offset padding align* inline unused simd avx neon radix dictionary listpack ziplist quicklist bitmap"
)

_PROMISING = {name: (weight, re.compile(pattern, re.I)) for name, weight, pattern in GUARANTEES}
_SIEVE = Sieve({name: pattern for name, (_, pattern) in _PROMISING.items()})


@lru_cache(maxsize=1)
def _tables() -> tuple[
    dict[str, tuple[tuple[int, float], ...]], list[tuple[str, int, float]], frozenset[str], tuple[str, ...]
]:
    exact: dict[str, list[tuple[int, float]]] = {}
    stems: list[tuple[str, int, float]] = []
    for at, category in enumerate(CATEGORIES):
        for weight, words in _WORDS[category].items():
            for word in words.split():
                if word.endswith("*"):
                    stems.append((word[:-1], at, float(weight)))
                else:
                    exact.setdefault(word, []).append((at, float(weight)))
    mechanics = _MECHANICS.split()
    return (
        {word: tuple(rows) for word, rows in exact.items()},
        stems,
        frozenset(word for word in mechanics if not word.endswith("*")),
        tuple(word[:-1] for word in mechanics if word.endswith("*")),
    )


@lru_cache(maxsize=65536)
def categories_of_word(word: str) -> tuple[tuple[int, float], ...]:
    """`(index into CATEGORIES, weight)` for each category that the lower-case word belongs to."""
    exact, stems, _, _ = _tables()
    best: dict[int, float] = {}
    for at, weight in exact.get(word, ()):
        best[at] = max(weight, best.get(at, 0.0))
    for start, at, weight in stems:
        if word.startswith(start):
            best[at] = max(weight, best.get(at, 0.0))
    return tuple(best.items())


@lru_cache(maxsize=65536)
def is_mechanics(word: str) -> bool:
    """Whether the word speaks of program text rather than of behaviour."""
    _, _, exact, starts = _tables()
    return word in exact or word.startswith(starts)


def promises_in(text: str) -> list[tuple[str, float]]:
    """The kinds of promise in the sentence, each once, with its weight."""
    rows = ((name, *_PROMISING[name]) for name in _SIEVE.possible(text))
    return [(name, weight) for name, weight, pattern in rows if pattern.search(text)]
