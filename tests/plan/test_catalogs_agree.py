"""The catalogs of faults, checkers, models and pitfalls speak of the same things by the same names."""

from __future__ import annotations

from refute.checkers.catalog import CATALOG as CHECKERS
from refute.plan.document import CATEGORIES, Claim
from refute.plan.families import FAMILIES, families_in_words, family_of, produces
from refute.plan.fault_catalog import CATALOG as FAULTS
from refute.plan.models import MODELS, model_named
from refute.plan.oracle_words import categories_judged
from refute.plan.pitfalls import pitfalls, relevance


def test_every_fault_of_the_catalog_belongs_to_a_family() -> None:
    odd = {entry for entry in FAULTS if family_of(*entry) not in FAMILIES}
    assert odd == set()


def test_faults_fall_into_the_family_that_people_mean() -> None:
    families = {
        ("process", "kill"): "crash",
        ("docker", "stop"): "crash",
        ("storage", "power-loss"): "power-loss",
        ("netns", "loss"): "packet-loss",
        ("resource", "freezer"): "pause",
        ("process", "rolling-restart"): "restart",
        ("proxy", "half-open"): "reset",
        ("clock", "freeze"): "clock",
        ("membership", "remove"): "membership",
    }
    assert {fault: family_of(*fault) for fault in families} == families


def test_a_threat_in_words_finds_the_faults_that_produce_it() -> None:
    assert families_in_words("crash of the leader") == {"crash"}
    assert families_in_words("a long GC pause") == {"pause"}
    assert produces({"power-loss"}, "crash") and not produces({"crash"}, "power-loss")


def test_every_checker_judges_categories_of_claims() -> None:
    for entry in CHECKERS.values():
        assert categories_judged(entry), entry.name
        assert categories_judged(entry) <= set(CATEGORIES), entry.name


def test_every_pitfall_speaks_of_known_families_and_categories() -> None:
    for pitfall in pitfalls():
        assert set(pitfall.families) <= set(FAMILIES), pitfall.id
        assert set(pitfall.categories) <= set(CATEGORIES), pitfall.id


def test_a_model_is_found_by_what_people_call_it() -> None:
    named = {
        "register, one per key": "register",
        "a compare-and-set register": "compare-and-set register",
        "key-value map of registers": "key-value map",
        "a lock with fencing tokens": "mutex",
        "transactions over lists": "transactions",
        "something else entirely": None,
    }
    assert {text: model_named(text) for text in named} == named


def test_every_model_is_judged_by_checkers_that_there_are() -> None:
    for model in MODELS.values():
        assert model.checkers, model.id
        assert set(model.checkers) <= set(CHECKERS), model.id


def test_every_checker_of_objects_judges_some_model() -> None:
    named = {name for model in MODELS.values() for name in model.checkers}
    by_claim_alone = {"boundary", "fairness", "slo"}  # these judge answers and times, whatever the object is
    assert set(CHECKERS) - named - by_claim_alone == set()


def test_electricity_is_no_election() -> None:
    claim = Claim("C1", "Acknowledged rows survive an electricity cut.", "safety")
    spoken = {each.id for each in pitfalls() if relevance(each, [claim]).verdict == "applies"}
    assert not spoken & {"partial-partition", "vote-by-the-wrong-log"}
    elected = Claim("C1", "An elected node holds every acknowledged row.", "safety")
    assert (
        relevance(next(each for each in pitfalls() if each.id == "partial-partition"), [elected]).verdict
        == "applies"
    )


def test_a_write_that_is_flushed_later_may_be_acknowledged_before_it_is_synced() -> None:
    unsynced = next(each for each in pitfalls() if each.id == "acknowledged-before-synced")
    claim = Claim("C1", "Writes are buffered, and the buffer is flushed every 20 ms.", "durability")
    assert relevance(unsynced, [claim]).verdict == "applies"
