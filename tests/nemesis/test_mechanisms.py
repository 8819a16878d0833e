"""What there is a mechanism for is asked of the mechanisms, and whether it works is tried out."""

from __future__ import annotations

from refute.nemesis.mechanisms import PLANES, implemented, list_faults, probe
from refute.plan.fault_catalog import CATALOG


def test_every_mechanism_has_an_entry_in_the_catalog() -> None:
    assert implemented() <= set(CATALOG)
    assert {name for name, _ in implemented()} == set(PLANES)


def test_faults_are_listed_with_what_works_here() -> None:
    listed = {(each["plane"], each["kind"]): each for each in list_faults(plane="process")}
    assert all(each["works"] for each in listed.values())
    links = {each["kind"]: each for each in list_faults(plane="proxy")}
    assert links["partition"]["works"]
    assert links["partition"]["implemented"]


def test_what_is_only_in_the_catalog_does_not_work() -> None:
    for plane, kind in set(CATALOG) - implemented():
        assert not probe(plane, kind).works


def test_without_probing_nothing_is_said_about_this_machine() -> None:
    listed = list_faults(probing=False)
    assert len(listed) == len(CATALOG)
    assert all("works" not in each for each in listed)
