"""Claims about workers: whatever one does is an operation and a log line, in Python, shell and Node."""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path

import pytest

from refute.history import Outcome
from refute.plan.system_spec import Client
from refute.workload.client import open_client
from refute.workload.error import WorkloadError
from refute.workload.request import Request
from tests.workload.loopback import Store, closed_port, service

EXAMPLES = Path(__file__).parents[2] / "examples" / "workers"

ECHO = {
    "python": """
import json, sys, time, os, subprocess
for number, line in enumerate(sys.stdin):
    op = json.loads(line)
    behave = op["key"]
    if behave == "hang": time.sleep(60)
    if behave == "die": os._exit(3)
    if behave == "garbage": print("not json", flush=True); continue
    if behave == "wrong-id": op["id"] += 1
    if behave == "list": print("[]", flush=True); continue
    if behave == "flood":
        while True: sys.stdout.write("x" * 65536)
    if behave == "stderr": sys.stderr.write("e" * 3_000_000)
    if behave == "child": subprocess.Popen(["sleep", "60"]); time.sleep(60)
    outcome = op["input"] if behave == "outcome" else "ok"
    print(json.dumps({"id": op["id"], "outcome": outcome, "output": os.getpid()}), flush=True)
""",
    "shell": r"""
while IFS= read -r line; do
    id=${line#*\"id\":}; id=${id%%,*}
    case $line in
        *'"hang"'*) sleep 60 ;;
        *'"die"'*) exit 3 ;;
        *'"garbage"'*) echo not json; continue ;;
        *'"wrong-id"'*) id=$((id + 1)) ;;
        *'"list"'*) echo '[]'; continue ;;
        *'"flood"'*) tr '\0' x </dev/zero ;;
        *'"stderr"'*) head -c 3000000 /dev/zero | tr '\0' e >&2 ;;
        *'"child"'*) sleep 60 & sleep 60 ;;
    esac
    outcome=ok
    case $line in *'"outcome"'*) outcome=${line#*\"input\":\"}; outcome=${outcome%%\"*} ;; esac
    echo "{\"id\":$id,\"outcome\":\"$outcome\",\"output\":$$}"
done
""",
    "node": """
const { createInterface } = require("node:readline");
const { spawn } = require("node:child_process");
const { writeSync } = require("node:fs");
const wait = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60000);
createInterface({ input: process.stdin }).on("line", (line) => {
  const op = JSON.parse(line);
  if (op.key === "hang") wait();
  if (op.key === "die") process.exit(3);
  if (op.key === "garbage") return console.log("not json");
  if (op.key === "wrong-id") op.id += 1;
  if (op.key === "list") return console.log("[]");
  if (op.key === "flood") for (;;) { try { writeSync(1, "x".repeat(65536)); } catch (e) { if (e.code !== "EAGAIN") throw e; } }
  if (op.key === "stderr") for (let n = 0; n < 46; n++) { try { writeSync(2, "e".repeat(65536)); } catch (e) { if (e.code === "EAGAIN") n--; else throw e; } }
  if (op.key === "child") { spawn("sleep", ["60"]); wait(); }
  const outcome = op.key === "outcome" ? op.input : "ok";
  console.log(JSON.stringify({ id: op.id, outcome, output: process.pid }));
});
""",
}
PROGRAMS = {"python": (sys.executable, "-c"), "shell": ("sh", "-c"), "node": ("node", "-e")}


def commanded(language, script=None):
    program, flag = PROGRAMS[language]
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    return [program, flag, ECHO[language] if script is None else script]


@pytest.fixture
def log():
    return []


@pytest.fixture
def opened(log):
    made = []

    def open_one(command, port=1, **fields):
        described = Client.model_validate({"worker": {"command": command, **fields}})
        nodes = {"n1": {"peer": ("127.0.0.1", 2), "client": ("127.0.0.1", port)}}
        words = {"python": sys.executable, "plan_dir": str(EXAMPLES), "variables": {"mode": "fast"}}
        client = open_client(described, nodes, words=words, directory=EXAMPLES, log=log.append)
        made.append(client)
        return client

    yield open_one
    for client in made:
        client.close()


def ask(client, key="x", value=None, timeout_s=5.0, kind="read", identity=0):
    return client.invoke(Request(kind, key, value), "n1", timeout_s, process=4, identity=identity)


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


LANGUAGES = pytest.mark.parametrize("language", ECHO)


@LANGUAGES
def test_a_worker_answers_line_by_line_and_stays(language, opened):
    client = opened(commanded(language))
    pids = {ask(client, identity=identity).output for identity in range(20)}
    assert len(pids) == 1
    client.close()
    assert not alive(pids.pop())


@LANGUAGES
@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        ("hang", "timed out"),
        ("die", "ended without an answer"),
        ("garbage", "not JSON: not json"),
        ("wrong-id", "something else than operation 1"),
        ("list", "something else than operation 1"),
        ("flood", "no end of line"),
    ],
)
def test_a_worker_that_misbehaves_is_an_unknown_operation_a_log_line_and_a_new_worker(
    language, behaviour, said, opened, log
):
    client = opened(commanded(language))
    first = ask(client).output
    completion = ask(client, behaviour, timeout_s=0.4 if behaviour == "hang" else 5.0, identity=1)
    assert completion.outcome is Outcome.INFO and said in completion.error
    assert any(f"worker {first} at read {behaviour}: " in line and "replaced" in line for line in log)
    assert not alive(first)
    again = ask(client, identity=2)
    assert again.outcome is Outcome.OK and again.output != first


@LANGUAGES
def test_a_flood_on_stderr_neither_blocks_a_worker_nor_fills_the_log(language, opened, log):
    client = opened(commanded(language))
    assert ask(client, "stderr").outcome is Outcome.OK
    client.close()
    assert 60_000 < sum(map(len, log)) < 80_000 and "the rest is dropped" in log[-1]


@LANGUAGES
def test_an_outcome_that_there_is_not_is_unknown(language, opened):
    client = opened(commanded(language))
    assert ask(client, "outcome", "fail").outcome is Outcome.FAIL
    assert ask(client, "outcome", "info").outcome is Outcome.INFO
    completion = ask(client, "outcome", "maybe")
    assert completion.outcome is Outcome.INFO and "must be ok, fail or info" in completion.error


@LANGUAGES
def test_what_a_worker_started_is_killed_with_it(language, opened):
    client = opened(commanded(language))
    group = ask(client).output
    assert ask(client, "child", timeout_s=0.5, identity=1).outcome is Outcome.INFO
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            break
        time.sleep(0.01)
    else:
        pytest.fail("something of the worker's process group is left")


def test_a_worker_that_ended_before_it_was_asked_is_replaced_and_nothing_is_unknown(opened, log):
    script = ECHO["python"] + "    break\n"
    client = opened(commanded("python", script))
    outcomes = []
    for identity in range(3):
        outcomes.append(ask(client, identity=identity).outcome)
        time.sleep(0.1)
    assert outcomes == [Outcome.OK] * 3 and sum("replaced" in line for line in log) == 2


def test_a_worker_that_dies_at_once_is_not_started_a_thousand_times(opened, log):
    client = opened([sys.executable, "-S", "-c", "import os; os._exit(1)"])
    start = time.monotonic()
    outcomes = {ask(client, timeout_s=1.0, identity=identity).outcome for identity in range(5)}
    assert Outcome.OK not in outcomes
    assert time.monotonic() - start > 0.2


def test_a_worker_is_told_all_about_an_operation(opened):
    show = "import sys, json\nfor line in sys.stdin:\n    op = json.loads(line)\n    print(json.dumps({'id': op['id'], 'outcome': 'ok', 'output': op, 'extra': {'token': 5}}), flush=True)"
    client = opened(commanded("python", show), port=7)
    completion = client.invoke(
        Request("cas", "k", [1, 2], {"tenant": "t"}), "n1", 1.5, process="p", identity=0
    )
    assert completion.output == {
        "id": 0,
        "process": "p",
        "kind": "cas",
        "key": "k",
        "input": [1, 2],
        "node": "n1",
        "endpoint": "127.0.0.1:7",
        "endpoints": {"n1": {"peer": "127.0.0.1:2", "client": "127.0.0.1:7"}},
        "timeout_ms": 1500,
        "extra": {"tenant": "t"},
    }
    assert completion.extra == {"token": 5}


def test_a_worker_that_does_not_read_does_not_hold_the_client(opened):
    client = opened([sys.executable, "-c", "import time; time.sleep(60)"])
    start = time.monotonic()
    assert ask(client, value="x" * 1_000_000, timeout_s=0.3).outcome is Outcome.INFO
    assert time.monotonic() - start < 2


def test_words_and_environment_of_a_command_are_filled_in(opened):
    script = 'import os, sys\nfor line in sys.stdin: print(\'{"id":0,"outcome":"ok","output":"%s"}\' % os.environ[\'MODE\'], flush=True)'
    client = opened(["{python}", "-c", script.replace("{", "{")], env={"MODE": "{variables.mode}"})
    assert ask(client).output == "fast"


@pytest.mark.parametrize("command", [["no-such-program"], ["./no-such-file"], ["./README"], ["{pyhton}"]])
def test_a_command_that_does_not_exist_is_an_error_before_the_run(opened, command):
    with pytest.raises(WorkloadError):
        opened(command)


def test_a_directory_that_does_not_exist_is_an_error_before_the_run(opened):
    with pytest.raises(WorkloadError, match="does not exist"):
        opened(["sh"], cwd="nowhere")


EXAMPLE_COMMANDS = {
    "python": (["{python}", "worker.py"], []),
    "shell": (["./worker.sh"], ["curl", "jq"]),
    "node": (["node", "worker.mjs"], ["node"]),
}


@pytest.mark.parametrize("language", EXAMPLE_COMMANDS)
def test_the_documented_examples_drive_a_service(language, opened):
    command, needed = EXAMPLE_COMMANDS[language]
    for program in needed:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    with service(Store().answer) as server:
        client = opened(command, server.port)
        assert ask(client).output is None
        assert ask(client, "x", [1, "two's"], kind="write", identity=1).outcome is Outcome.OK
        assert ask(client, identity=2).output == [1, "two's"]
    with service(lambda asked: (503, {"error": "no leader"})) as server:
        completion = ask(opened(command, server.port), kind="write", value=1)
        assert completion.outcome is Outcome.INFO and "503" in completion.error
    refused = ask(opened(command, closed_port()), kind="write", value=1)
    assert refused.outcome is Outcome.FAIL


def test_the_page_about_workers_shows_the_examples_as_they_are():
    page = (EXAMPLES.parents[1] / "docs" / "workers.md").read_text()
    for example in ("worker.py", "worker.sh", "worker.mjs"):
        assert (EXAMPLES / example).read_text() in page
