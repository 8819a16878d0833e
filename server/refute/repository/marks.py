"""Finds lines that show what a program does: listens, syncs, elects, authenticates, fails on purpose."""

# ruff: noqa: E501  (a table of patterns is read by its rows)

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from refute.repository.sieve import Sieve
from refute.repository.telling_code import fail_open_lines

_MOST_OF_A_KIND = 4
_MOST_LOOKED_AT = 60
# A line that only names a package says less than one that does something with it.
_NAMING = re.compile(
    r"\s*(?:import|using|use|from|namespace|package|#\s*include|require(?:_once)?)\b(?!\s*(?:GenServer|Mix|Plug|Ecto|Oban))"
)
# A comment says what the author thinks of; only the hooks of fault injectors are written in one.
_COMMENT = re.compile(
    r"\s*(?://|/\*|\*(?:\s|/|$)|--\s|#(?!\[|\s*(?:define|if|elif|else|pragma)\b)|%|;;|<!--)"
)
_ENDS_A_BLOCK = re.compile(r"\s*\}[\s;)]*(?://.*)?$")
# what a kind's words mean elsewhere: licences, modes of files, parts of Kubernetes
_OTHERWISE = {
    "auth": re.compile(
        r"governing permissions|permission notice|[Pp]ermission is hereby|written permission|(?:[Ff]ile|[Pp]osix)\w*[Pp]ermission|"
        r"[Pp]ermissionDenied|chmod|\bmkdir|createDirectory|file permission|\bpermissions: (?:read|write|contents)"
    ),
    "replication": re.compile(r"replicationcontroller|replicateA"),
    "disk format": re.compile(r"checksum/[\w-]+:|MANIFEST\.(?:MF|in)"),
}
_KINDS: tuple[tuple[str, str], ...] = (
    ("persistence", r"\b(?:fsync|fdatasync|F_FULLFSYNC|FlushFileBuffers|rocksdb|leveldb|bbolt|bolt\.Open|sqlite3?|lmdb|badger|"
                    r"FileChannel\.force|force\(true\)|mmap|write_?ahead|\w*WAL\b|journal|os\.OpenFile|\.Sync\(\)|sync_all|"
                    r"CREATE TABLE|ActiveRecord|sequelize|Ecto\.Repo|Repo\.transaction|EntityManager\b|JdbcTemplate|DbContext\b|"
                    r"ioredis|Redix\.\w+\(|redis\.call\(|new Redis\(|Redis\.new\b|Redis(?:Factory|Client|Connection|Template)\b)"),
    ("replication", r"\b(?:raft|paxos|zab|quorum|replicat\w+|AppendEntries|RequestVote|appendEntries|viewstamped|gossip|"
                    r"(?:become|step_?down)\w*[Ll]eader|become_?(?:leader|follower)|leader_?election|PSYNC|anti_?entropy|crdt)"),
    ("rpc", r"\b(?:grpc\.NewServer|^service \w+|rpc \w+\s*\(|RegisterService|tonic::|netty\b|ServerBootstrap|thrift|brpc|"
            r"net/rpc|tarpc|:e?rpc\.(?:multi)?call|e?rpc:(?:multi)?call|register_command|redisCommandTable)"),
    ("rest", r"(?:\bhttp\.Handle(?:Func)?\b|\.HandleFunc\(|@(?:Get|Post|Put|Delete|Request)Mapping|@(?:app|router|blueprint)\.(?:route|get|post)|"
             r"\brouter\.(?:get|post|put|delete)\(|express\(\)|\bMux\b|MapGet\(|^[ \t]*(?:\{[ \t]*)?[\"']?(?:openapi|swagger)[\"']?\s*:\s*[\"']?\d|Sinatra|Rack::|axum::|actix_web|^[ \t]*@Path\(\"[^\"\n]*\"\)\s*$|"
             r"\bRoute::(?:get|post|put|patch|delete|resource)\(|\bPlug\.Router\b|\bHttpRoutes\.of\b|\brouting \{|\bpathPrefix\(|"
             r"^[ \t]*(?:get|post|put|patch|delete|resources) [\"'/:]/?\w[^\n]*(?:\bdo\b|Controller|=>|to:))"),
    ("listener", r"\b(?:net\.Listen\w*|TcpListener|ServerSocket\w*|anetTcpServer|asyncio\.start_server|createServer\b|bind\s*\(\s*\w*sock\w*|"
                 r"ListenAndServe\w*|tls\.Listen|gen_tcp:listen|TCPServer)"),
    ("cli", r"(?:\b(?:cobra\.Command|flag\.Parse|argparse|click\.command|clap::|structopt|OptionParser|"
            r"getopt(?:_long)?|CommandLine|picocli|JCommander|main\s*\(\s*(?:int argc|String\b|\)|args)|use Mix\.Task\b|extends App\b)|"
            r"[\"']commander[\"']|\$signature = [\"'])"),
    ("wire format", r"\b(?:syntax = \"proto[23]\"|protobuf|msgpack|MessagePack|\w*[Pp]rotocol_?[Vv]ersion|magic_?number|MAGIC|flatbuffers|avro|"
                    r"RESP[23]?\b|encoding/binary|binary\.(?:Big|Little)Endian|ByteOrder\b|putInt\(|putLong\(|writeInteger\(|struct\.pack)"),
    ("disk format", r"\b(?:crc32\w*|Crc32\w*|checksum\w*|file_?format|FORMAT_VERSION|RDB_VERSION|segment_?file|snapshot_?file|SSTable|MANIFEST\b|[Mm]anifest_?(?:[Ff]ile|[Ll]og|[Ee]dit)\w*)"),
    ("background", r"\b(?:time\.NewTicker|time\.Tick|time\.AfterFunc|ScheduledExecutor\w*|setInterval|tokio::spawn|threading\.Thread|Thread\.new|"
                   r"aeCreateTimeEvent|serverCron|bio_\w+|cron(?:[Jj]obs?|tab)?\b|[Cc]ron(?:Trigger|Scheduler|Job|Parser)\b|Timer\(|BackgroundService|IHostedService|Process\.send_after|"
                   r"erlang:send_after|timer:send|daemon_?thread|(?:class|defmodule|object|struct|namespace) [\w.]*Scheduler\b|[Ss]cheduler(?:\.\w+)*\(|@Scheduled\b|use GenServer\b|GenStage\b|gen_server\b|gen_statem\b|std::j?thread\b|pthread_create|Background\w*\(|ShouldQueue\b|Oban\.Worker|ActiveJob::|Sidekiq::\w+|shared_task\b)"),
    ("auth", r"\b(?:authenticat\w+|authoriz\w+|\w*ACL\w*|rbac|RBAC|jwt|JWT|tls\.Config|SSLContext|mTLS|sasl|SASL|permission\w*|tenant\w*|"
             r"namespace_?id|nkeys?|bcrypt)"),
    ("observability", r"\b(?:prometheus|opentelemetry|OpenTelemetry|otel|expvar|statsd|micrometer|MetricRegistry|go-metrics|metrics\.\w+|"
                      r"telemetry|tracing::|datadog|slowlog|/metrics|/healthz?|/readyz)"),
    ("fault hook", r"(?:gofail:|\bfail_point!|\bfailpoint\w*|\bFAULT_INJECT\w*|\bDEBUG SLEEP\b|\bdebugCommand\b|\bsync_point\b|TEST_SYNC_POINT|"
                   r"\bfault_?inject\w*|\bchaos\w*|\binject_?(?:error|fault|failure)\w*|\b\w*Inject(?:ed|or|ion|ing)?_?(?:Err|Fault|Fail|Delay|Latency|Crash)\w*|"
                   r"\b\w*(?:[Ee]rr(?:or)?|[Ff]ault|[Ff]ail(?:ure)?|[Cc]ode|[Cc]rash|[Dd]elay|[Ll]atency)_?[Ii]nject(?:or|ion|ed)\w*|"
                   r"(?:go:build|\+build)[^\n!]*(?:monkey|chaos|fault|failpoint|inject|simtest|gofuzz)|feature\s*=\s*\"[^\"]*(?:testing|failpoint|fault|chaos|simulat|shuttle|loom)[^\"]*\"|"
                   r"\bbuggify\b|\bBUGGIFY\b|\bmadsim\b|\bturmoil\b|\bloom::|"
                   r"\bProcess\.kill\b.*STOP|assert\.(?:Always|Reachable|Sometimes)\()"),
    ("switch", r"\b(?:os\.[Gg]etenv|os\.LookupEnv|os\.environ|ENV\[|process\.env\.|std::env::var|System\.getenv|getenv\s*\(|System\.get_env)"),
    ("isolation", r"(?:FOR UPDATE|SKIP LOCKED|SERIALIZABLE|REPEATABLE READ|READ COMMITTED|ISOLATION LEVEL|isolation_level|pg_advisory\w*|"
                  r"ON CONFLICT|compareAndSet|CompareAndSwap|\bWATCH\b|\bMULTI\b)"),
    ("acknowledgement", r"\b(?:acks?_late|basic\.ack|basic_ack|nack|requeue\w*|visibility_timeout|max_deliver\w*|ack_wait|AckPolicy|"
                        r"dedup\w*|idempot\w+|exactly_?once)"),
)  # fmt: skip
_COMPILED = {kind: re.compile(pattern, re.M) for kind, pattern in _KINDS}
_SIEVE = Sieve(_COMPILED)


def find_marks(lines: Sequence[str]) -> Iterator[tuple[str, int, str]]:
    """`(kind, line, text)`: at most four of a kind a file; linear.

    A line that names a package stands for a file only where no other line of that kind does.
    """
    text = "\n".join(lines)
    if len(text) > 2_000_000:
        return
    if any(line.startswith("kind: CustomResourceDefinition") for line in lines[:60]):
        return  # a form with its explanations: it names everything and does nothing
    for kind in _SIEVE.possible(text):
        rows = [row for row in dict.fromkeys(_rows(_COMPILED[kind], text)) if _is_told_by(lines[row], kind)]
        doing = [line for line in rows if not _NAMING.match(lines[line])]
        for line in doing[:_MOST_OF_A_KIND] or rows[:1]:
            yield kind, line + 1, lines[line].strip()[:160]
    for row in islice(fail_open_lines(lines), _MOST_OF_A_KIND):
        yield "fail-open", row.line, row.text[:160]


def _is_told_by(line: str, kind: str) -> bool:
    if kind != "fault hook" and (_COMMENT.match(line) or _ENDS_A_BLOCK.match(line)):
        return False
    return kind not in _OTHERWISE or not _OTHERWISE[kind].search(line)


def _rows(pattern: re.Pattern[str], text: str) -> Iterator[int]:
    line = position = 0
    for found in islice(pattern.finditer(text), _MOST_LOOKED_AT):
        at = found.start() + len(found[0]) - len(found[0].lstrip())
        line += text.count("\n", position, at)
        position = at
        yield line
