"""What there is a mechanism for is asked of the mechanisms, and whether it works is tried out."""

from __future__ import annotations

import pytest

from refute.nemesis.mechanisms import PLANES, implemented, list_faults, probe, wanted_kinds
from refute.plan.document import PlanError
from refute.plan.fault_catalog import CATALOG


def test_every_plane_has_a_mechanism() -> None:
    assert {name for name, _ in implemented()} == set(PLANES)


def test_faults_are_listed_with_what_works_here() -> None:
    listed = {(each["plane"], each["kind"]): each for each in list_faults(plane="process")}
    assert all(each["works"] for each in listed.values())
    links = {each["kind"]: each for each in list_faults(plane="proxy")}
    assert links["partition"]["works"]
    assert links["partition"]["implemented"]


def test_everything_in_the_catalog_has_a_mechanism() -> None:
    assert implemented() == set(CATALOG)


def test_what_has_no_mechanism_does_not_work() -> None:
    assert not probe("client", "mutiny").works


def test_without_probing_nothing_is_said_about_this_machine() -> None:
    listed = list_faults(probing=False)
    assert len(listed) == len(CATALOG)
    assert all("works" not in each for each in listed)


def test_a_plane_or_one_fault_of_it_may_be_wanted() -> None:
    assert wanted_kinds(["process/kill"]) == {("process", "kill")}
    assert {plane for plane, _ in wanted_kinds(["netns"])} == {"netns"}
    assert wanted_kinds(["netns"]) > wanted_kinds(["netns/drop"])


@pytest.mark.parametrize("written", ["netz", "storage/powerloss", ""])
def test_what_is_no_fault_cannot_be_wanted(written: str) -> None:
    with pytest.raises(PlanError, match=r"there is no fault plane|has no fault"):
        wanted_kinds([written])
