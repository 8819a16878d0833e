"""Claims about generators: the same seed asks the same, unique values are unique, mistakes are named."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refute.plan.scenario import GENERATORS as NAMED_IN_PLANS
from refute.plan.scenario import Workload
from refute.workload.error import WorkloadError
from refute.workload.generators import GENERATORS, generate, kinds_of, mix_of


def workload(generator, **fields):
    return Workload.model_validate({"generator": generator, "keys": 5, **fields})


def take(count, described, client=0, seed=1, **more):
    return list(islice(generate(described, client=client, seed=seed, **more), count))


@pytest.mark.parametrize("name", GENERATORS)
def test_the_same_seed_gives_each_client_the_same_operations(name):
    described = workload(name)
    again = workload(name)
    for client in range(3):
        assert take(300, described, client, seed=7) == take(300, again, client, seed=7)


@pytest.mark.parametrize("name", [name for name in GENERATORS if name not in ("unique-ids",)])
def test_another_seed_or_client_gives_other_operations(name):
    described = workload(name)
    assert take(100, described, 0, seed=1) != take(100, described, 0, seed=2)
    assert take(100, described, 0, seed=1) != take(100, described, 1, seed=1)


@pytest.mark.parametrize("name", GENERATORS)
def test_a_generator_asks_for_the_kinds_that_it_says_and_for_all_of_them(name):
    described = workload(name)
    asked = {request.kind for request in take(500, described)}
    assert asked == set(kinds_of(described))


def written_values(requests):
    for request in requests:
        if request.kind == "txn":
            yield from (value for kind, _, value in request.input if kind != "r")
        elif request.kind in ("write", "put", "append", "add", "enqueue"):
            yield request.input
        elif request.kind == "cas":
            yield request.input[1]


@pytest.mark.parametrize(
    "name", ["register", "cas-register", "kv", "append", "set", "queue", "list-append", "rw-register"]
)
@given(clients=st.integers(1, 6), seed=st.integers(0, 9), base=st.sampled_from([0, 10_000_000]))
@settings(max_examples=15, deadline=None)
def test_unique_values_are_unique_among_all_clients(name, clients, seed, base):
    described = workload(name, clients=clients)
    values = [
        value
        for client in range(clients)
        for value in written_values(take(60, described, client, seed, first_value=base))
    ]
    assert len(values) == len(set(values)) > 0
    assert min(values) > base


def test_small_values_repeat():
    values = list(written_values(take(200, workload("register", values="small"))))
    assert set(values) == {0, 1, 2, 3, 4}


def test_a_mix_weighs_the_kinds():
    kinds = Counter(request.kind for request in take(2000, workload("register", mix={"read": 9, "write": 1})))
    assert 0.06 < kinds["write"] / 2000 < 0.14
    assert mix_of(workload("kv", mix={"get": 1, "put": 0})) == {"get": 1}


def test_zipf_prefers_the_first_keys_and_sequential_takes_them_in_turn():
    zipf = Counter(r.key for r in take(3000, workload("register", keys=10, key_distribution="zipf")))
    assert zipf["k0"] > 3 * zipf["k9"] > 0
    in_turn = [r.key for r in take(7, workload("register", keys=3, key_distribution="sequential"), client=1)]
    assert in_turn == ["k1", "k2", "k0", "k1", "k2", "k0", "k1"]


@given(clients=st.integers(1, 5), keys=st.integers(1, 6), per_key=st.integers(1, 20))
@settings(max_examples=30, deadline=None)
def test_a_key_is_left_behind_after_about_so_many_writes(clients, keys, per_key):
    described = workload("append", clients=clients, keys=keys, options={"writes_per_key": per_key})
    writes: Counter[str] = Counter()
    for client in range(clients):
        writes.update(r.key for r in take(400, described, client) if r.kind == "append")
    assert len(writes) > keys
    assert max(writes.values()) <= 4 * keys * (per_key + clients) / min(keys, 2) + 8
    assert sum(writes.values()) / len(writes) <= 2 * per_key + clients


def test_appends_to_a_map_make_every_value_a_string():
    requests = take(300, workload("kv", mix={"get": 1, "put": 1, "append": 1, "cas": 1}))
    assert all(
        isinstance(value, str)
        for request in requests
        if request.input is not None
        for value in (request.input if request.kind == "cas" else [request.input])
    )


def test_transactions_read_with_null_and_have_the_length_asked_for():
    described = workload("list-append", options={"shortest_transaction": 2, "longest_transaction": 3})
    for request in take(100, described):
        assert request.key is None and 2 <= len(request.input) <= 3
        assert all((kind == "r") == (value is None) for kind, _, value in request.input)


def test_a_transfer_moves_money_between_two_different_accounts():
    transfers = [r.input for r in take(200, workload("bank")) if r.kind == "transfer"]
    assert all(t["from"] != t["to"] and 1 <= t["amount"] <= 5 for t in transfers)


def test_extra_fields_go_with_every_operation_and_lists_are_dealt_to_the_clients():
    described = workload("register", extra={"tenant": "a", "group": ["x", "y"]})
    assert all(r.extra == {"tenant": "a", "group": "x"} for r in take(20, described, client=2))
    assert all(r.extra == {"tenant": "a", "group": "y"} for r in take(20, described, client=3))


def test_retries_need_idempotency_keys_and_every_write_has_one_of_its_own():
    described = workload("register", clients=2, options={"retry_unknown": True})
    requests = [r for client in range(2) for r in take(100, described, client)]
    keys = [r.extra["idempotency_key"] for r in requests if r.kind == "write"]
    assert len(keys) == len(set(keys)) > 0
    assert all("idempotency_key" not in r.extra for r in requests if r.kind == "read")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"generator": "registre"}, "there are: append"),
        ({"generator": "register", "mix": {"cas": 1}}, "makes no 'cas'"),
        ({"generator": "register", "mix": {"read": 0}}, "nothing to generate"),
        ({"generator": "register", "mix": {"read": -1}}, "zero or more"),
        ({"generator": "register", "options": {"zipf": 2}}, "takes no option 'zipf'"),
        ({"generator": "register", "options": {"small_values": "many"}}, "wrong type"),
        ({"generator": "bank", "keys": 1}, "two accounts"),
        ({"generator": "list-append", "options": {"longest_transaction": 0}}, "1 to 0"),
    ],
)
def test_a_mistake_in_a_workload_is_named_before_anything_is_sent(fields, said):
    with pytest.raises(WorkloadError, match=said):
        generate(Workload.model_validate(fields), client=0, seed=1)


def test_plans_are_checked_for_the_generators_that_there_are():
    assert set(NAMED_IN_PLANS) == set(GENERATORS)
