"""Claims about the HTTP client, against real servers on loopback that answer, hang, reset, redirect and babble."""

from __future__ import annotations

import base64
import random
import time

import pytest

from refute.history import Outcome
from refute.plan.system_spec import Client
from refute.workload.client import open_client
from refute.workload.error import WorkloadError
from refute.workload.request import Request
from tests.workload.loopback import (
    STORE_CLIENT,
    Store,
    closed_port,
    raw_server,
    read_request,
    reset,
    service,
)

READ = {"read": {"path": "/kv/{key}", "output": "value"}}


def opened(ports, operations=None, **fields):
    described = {"http": {"operations": operations or READ, **fields}}
    endpoints = {node: {"client": ("127.0.0.1", port)} for node, port in ports.items()}
    return open_client(Client.model_validate(described), endpoints)


def ask(client, kind="read", key="x", value=None, node="n1", timeout_s=2.0, **extra):
    return client.invoke(Request(kind, key, value, extra), node, timeout_s, process=3, identity=1)


def test_reads_writes_and_compare_and_set_of_a_json_service_need_only_a_description():
    with (
        service(Store().answer) as server,
        opened({"n1": server.port}, STORE_CLIENT["http"]["operations"]) as client,
    ):
        assert ask(client).output is None
        assert ask(client, "write", value=[1, "zwei"]).outcome is Outcome.OK
        assert ask(client).output == [1, "zwei"]
        assert ask(client, "cas", value=[[1, "zwei"], 3]).outcome is Outcome.OK
        assert ask(client, "cas", value=[1, 2]).outcome is Outcome.FAIL
        assert ask(client).output == 3
        assert server.connections == 1


def test_what_is_sent_is_what_the_description_says():
    operations = {
        "write": {
            "method": "post",
            "path": "/t/{extra.tenant}/{key}",
            "query": {"p": "{process}", "flag": True, "gone": "{extra.none?}", "many": ["{key}", 2]},
            "headers": {"Authorization": "Bearer {extra.token}", "X-Gone": "{extra.none?}"},
            "body": {"v": "{value}", "node": "{node}"},
        }
    }
    with (
        service(lambda asked: (200, {})) as server,
        opened({"n1": server.port}, operations, headers={"X-All": "a"}) as client,
    ):
        ask(client, "write", key="a/b c", value=5, tenant="é", token="t0")
    (asked,) = server.asked
    assert (asked.method, asked.path) == ("POST", "/t/%C3%A9/a%2Fb%20c?p=3&flag=true&many=a%2Fb+c&many=2")
    assert asked.json == {"v": 5, "node": "n1"}
    assert asked.headers["authorization"] == "Bearer t0" and asked.headers["x-all"] == "a"
    assert asked.headers["content-type"] == "application/json" and "x-gone" not in asked.headers


def test_every_request_has_a_unique_string_of_its_own():
    operations = {"write": {"method": "PUT", "path": "/x", "headers": {"Idempotency-Key": "{unique}"}}}
    with service(lambda asked: (200, {})) as server:
        for _ in range(2):
            with opened({"n1": server.port}, operations) as client:
                for _ in range(3):
                    ask(client, "write")
    assert len({asked.headers["idempotency-key"] for asked in server.asked}) == 6


def test_a_body_of_text_is_sent_as_it_stands():
    operations = {"write": {"method": "PUT", "path": "/x", "body": "{value|json}"}}
    with service(lambda asked: (200, {})) as server, opened({"n1": server.port}, operations) as client:
        ask(client, "write", value="five")
    assert server.asked[0].body == b'"five"' and server.asked[0].headers["content-type"].startswith(
        "text/plain"
    )


def test_refused_before_anything_was_sent_did_not_happen():
    with opened({"n1": closed_port()}) as client:
        completion = ask(client)
    assert completion.outcome is Outcome.FAIL and completion.not_reached
    assert "refused" in completion.error


def test_a_timeout_leaves_the_outcome_unknown_for_reads_too():
    with raw_server(lambda c: (read_request(c), time.sleep(0.6))) as port, opened({"n1": port}) as client:
        start = time.monotonic()
        completion = ask(client, timeout_s=0.15)
        assert completion.outcome is Outcome.INFO and completion.error == "timed out"
        assert 0.1 < time.monotonic() - start < 0.5


def test_a_server_that_drips_its_answer_does_not_outlast_the_timeout():
    def drip(connection):
        read_request(connection)
        for byte in b"HTTP/1.1 200 OK\r\n" * 20:
            connection.sendall(bytes([byte]))
            time.sleep(0.02)

    with raw_server(drip) as port, opened({"n1": port}) as client:
        start = time.monotonic()
        assert ask(client, timeout_s=0.2).outcome is Outcome.INFO
        assert time.monotonic() - start < 1.0


def answer_then(ending):
    def behave(connection):
        read_request(connection)
        ending(connection)

    return behave


@pytest.mark.parametrize(
    "ending",
    [
        reset,
        lambda c: None,
        lambda c: c.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{"),
        lambda c: c.sendall(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{"),
        lambda c: c.sendall(b"\x00\xff garbage\r\n\r\n"),
        lambda c: c.sendall(b"HTTP/1.1 two OK\r\n\r\n"),
        lambda c: c.sendall(b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 500),
        lambda c: c.sendall(b"x" * 200_000),
        lambda c: c.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: minus\r\n\r\n<html>"),
    ],
    ids=["reset", "closed", "short", "short-chunk", "garbage", "status", "headers", "long-line", "length"],
)
def test_whatever_happens_after_sending_leaves_the_outcome_unknown(ending):
    with raw_server(answer_then(ending)) as port, opened({"n1": port}) as client:
        completion = ask(client, timeout_s=1.0)
        assert completion.outcome is Outcome.INFO and completion.error
        assert not completion.not_reached


def test_random_bytes_never_break_the_client():
    rng = random.Random(5)

    def babble(connection):
        read_request(connection)
        connection.sendall(rng.choice([b"", b"HTTP/1.1 200 OK\r\n"]) + rng.randbytes(rng.randrange(200)))

    with raw_server(babble) as port, opened({"n1": port}) as client:
        assert {ask(client, timeout_s=1.0).outcome for _ in range(60)} == {Outcome.INFO}


def test_a_late_answer_is_never_taken_for_the_next_one():
    def slow_once(asked):
        if asked.path == "/kv/slow":
            time.sleep(0.3)
        return 200, {"value": asked.path}

    with service(slow_once) as server, opened({"n1": server.port}) as client:
        assert ask(client, key="slow", timeout_s=0.1).outcome is Outcome.INFO
        time.sleep(0.3)
        assert ask(client, key="b").output == "/kv/b"


def test_a_connection_that_the_server_closed_in_between_is_opened_again():
    """Nothing was sent on the old one: calling that unknown would weaken every check for nothing."""

    def one_answer_each(connection):
        read_request(connection)
        connection.sendall(b'HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\n{"value":1}')

    with raw_server(one_answer_each) as port, opened({"n1": port}) as client:
        for _ in range(3):
            assert ask(client).output == 1
            time.sleep(0.05)


def test_bytes_that_nobody_asked_for_close_the_connection():
    def chatty(connection):
        while read_request(connection):
            connection.sendall(b'HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\n{"value":1}')
            time.sleep(0.05)
            connection.sendall(b'HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\n{"value":2}')

    with raw_server(chatty) as port, opened({"n1": port}) as client:
        for _ in range(3):
            assert ask(client).output == 1
            time.sleep(0.1)


def redirecting(target, **fields):
    operations = {"read": {"path": "/kv/{key}", "output": "value", "redirect": [307, 421], **fields}}
    return lambda asked: (307, {"leader": target, "at": "body"}, {"Location": target or ""}), operations


@pytest.mark.parametrize(
    "name", ["http://n2:9999/kv/x", "n2:7000", "n2", "http://127.0.0.1:{port}/kv/x", "localhost:{port}"]
)
@pytest.mark.parametrize("leader_at", [None, "leader"])
def test_a_redirect_is_followed_to_the_node_that_it_names_at_our_address_of_it(name, leader_at):
    with service(lambda asked: (200, {"value": "from n2"})) as second:
        answer, operations = redirecting(name.replace("{port}", str(second.port)), leader_at=leader_at)
        with (
            service(answer) as first,
            opened({"n1": first.port, "n2": second.port}, operations) as client,
        ):
            completion = ask(client)
    assert (completion.output, completion.extra) == ("from n2", {"redirected_to": "n2"})


@pytest.mark.parametrize("target", ["http://example.com/x", "192.0.2.1:80", "http://[bad", "n7", None])
def test_a_redirect_to_anything_but_a_node_is_not_followed(target):
    answer, operations = redirecting(target)
    with service(answer) as server, opened({"n1": server.port}, operations) as client:
        completion = ask(client)
    assert completion.outcome is Outcome.FAIL and "no node" in completion.error
    assert len(server.asked) == 1


def test_a_redirect_is_followed_once():
    answer, operations = redirecting("n1")
    with service(answer) as server, opened({"n1": server.port}, operations) as client:
        completion = ask(client)
    assert completion.outcome is Outcome.FAIL and "twice" in completion.error
    assert len(server.asked) == 2


def test_the_timeout_covers_the_redirect_too():
    answer, operations = redirecting("n2")
    with (
        service(answer) as first,
        raw_server(lambda c: (read_request(c), time.sleep(0.5))) as second,
        opened({"n1": first.port, "n2": second}, operations) as client,
    ):
        assert ask(client, timeout_s=0.2).outcome is Outcome.INFO


def etcd_answer(store):
    """What etcd's JSON gateway answers, as its documentation describes it."""

    def answer(asked):
        body = asked.json
        if asked.path == "/v3/kv/put":
            store[body["key"]] = body["value"]
            return 200, {"header": {}}
        if asked.path == "/v3/kv/range":
            held = store.get(body["key"])
            return 200, {"header": {}} if held is None else {"kvs": [{"key": body["key"], "value": held}]}
        (compare,) = body["compare"]
        if store.get(compare["key"]) != compare["value"]:
            return 200, {"header": {}}
        (put,) = body["success"]
        store[put["request_put"]["key"]] = put["request_put"]["value"]
        return 200, {"header": {}, "succeeded": True}

    return answer


ETCD = {
    "read": {
        "method": "POST",
        "path": "/v3/kv/range",
        "body": {"key": "{key|base64}", "serializable": True},
        "output": "kvs.0.value",
        "decode": "base64-json",
    },
    "write": {
        "method": "POST",
        "path": "/v3/kv/put",
        "body": {"key": "{key|base64}", "value": "{value|json|base64}"},
    },
    "cas": {
        "method": "POST",
        "path": "/v3/kv/txn",
        "body": {
            "compare": [
                {
                    "key": "{key|base64}",
                    "target": "VALUE",
                    "result": "EQUAL",
                    "value": "{input.0|json|base64}",
                }
            ],
            "success": [{"request_put": {"key": "{key|base64}", "value": "{input.1|json|base64}"}}],
        },
        "fail_when": {"succeeded": None},
    },
}


def test_the_gateway_of_etcd_can_be_described():
    store = {}
    with service(etcd_answer(store)) as server, opened({"n1": server.port}, ETCD) as client:
        assert ask(client).output is None
        assert ask(client, "write", value=5).outcome is Outcome.OK
        assert ask(client).output == 5
        assert ask(client, "cas", value=[4, 6]).outcome is Outcome.FAIL
        assert ask(client, "cas", value=[5, "six"]).outcome is Outcome.OK
        assert ask(client).output == "six"
    assert store == {base64.b64encode(b"x").decode(): base64.b64encode(b'"six"').decode()}
    assert server.asked[0].json["serializable"] is True


def test_what_the_plan_gets_wrong_is_an_error_and_not_an_outcome():
    with opened({"n1": 1}) as client:
        with pytest.raises(WorkloadError, match="knows no operation 'write'"):
            ask(client, "write")
        with pytest.raises(WorkloadError, match="no node 'n9'"):
            ask(client, node="n9")
    with pytest.raises(WorkloadError, match="n1 has no port 'api'"):
        opened({"n1": 1}, port="api")
    with (
        pytest.raises(WorkloadError, match="does not start with /"),
        opened({"n1": 1}, {"read": {"path": "kv"}}) as c,
    ):
        ask(c)
    broken = {"read": {"path": "/", "headers": {"X": "{extra.x}"}}}
    with pytest.raises(WorkloadError, match="line break"), opened({"n1": 1}, broken) as client:
        ask(client, x="a\r\nHost: b")
