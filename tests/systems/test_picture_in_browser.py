"""The picture in a real headless browser: what it shows, how it answers, and that nothing of it runs wild."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from refute.history import History
from refute.session.picture.conflict import Conflict
from refute.session.picture.page import timeline_page
from tests.session import pictures

pytestmark = pytest.mark.systems

Opened = Callable[..., Any]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("google-chrome")
    assert program, "the picture is tested in Chromium: install it (.ci/run does)"
    quiet = ("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking")
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            str(tmp_path_factory.mktemp("profile")),
            executable_path=program,
            headless=True,
            args=["--no-sandbox", *quiet, "--disable-component-update", "--disable-sync"],
            viewport={"width": 1280, "height": 760},
        )
        yield context
        context.close()


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Opened]:
    """Opens the page of a history; at the end nothing may have been fetched and nothing complained."""
    pages, complaints, fetched = [], [], []

    def open_page(history: History, conflicts: tuple[Conflict, ...] = (), **options: Any) -> Any:
        path = tmp_path / f"picture-{len(pages)}.html"
        path.write_text(timeline_page(history, conflicts, title="a test", **options), encoding="utf-8")
        page = browser.new_page()
        pages.append(page)
        page.on(
            "console", lambda message: complaints.append(message.text) if message.type == "error" else None
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: fetched.append(request.url))
        page.goto(path.as_uri())
        page.wait_for_function("window.refutePicture")
        return page

    yield open_page
    own = {f"{(tmp_path / f'picture-{number}.html').as_uri()}" for number in range(len(pages))}
    for page in pages:
        page.close()
    assert complaints == []
    assert [url for url in fetched if url not in own and not url.startswith("data:")] == []


def state(page: Any) -> dict[str, Any]:
    # Two frames: what was asked for is drawn by then.
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    seen: dict[str, Any] = page.evaluate("refutePicture.state()")
    return seen


def colours_in_row(page: Any, row: int) -> list[int]:
    """Red, green and blue of the pixel in the middle of the bar of an operation."""
    pixel: list[int] = page.evaluate(
        """(row) => {
          const { x, y } = refutePicture.placeOf(row);
          const canvas = document.getElementById("timeline");
          const scale = canvas.width / canvas.getBoundingClientRect().width;
          return [...canvas.getContext("2d").getImageData(x * scale, (y + 10) * scale, 1, 1).data];
        }""",
        row,
    )
    return pixel[:3]


@pytest.fixture
def stale(opened: Opened) -> Any:
    history = pictures.stale_read()
    found = pictures.conflicts(history, "linearizable")
    return opened(history, found, faults=pictures.events(), landings=pictures.landings())


def test_it_opens_at_the_conflict_with_its_sentence_and_operations(stale: Any) -> None:
    seen = state(stale)
    assert seen["lit"] == [0, 2, 5]
    assert seen["focus"] == 0
    assert seen["from"] < 0
    assert seen["to"] > 18_000_000
    assert "although 2 was acknowledged" in stale.inner_text(".conflict.here")
    assert stale.locator(".conflict.here ol.operations button").count() == 3
    red, green, _ = colours_in_row(stale, 2)
    assert red > 2 * green, "the write of the conflict is not lit"
    assert colours_in_row(stale, 1) != colours_in_row(stale, 2)


def test_faults_say_whether_they_landed(stale: Any) -> None:
    shown = stale.inner_text("#faults")
    assert "proxy/partition n1->n2, n1->n3" in shown
    assert "landed" in stale.inner_text("#faults li:first-child .proven")
    assert "not proven to have landed" in stale.inner_text("#faults li:last-child .unproven")
    assert state(stale)["faults"] == 2


def test_keys_move_and_zoom(stale: Any) -> None:
    stale.focus("#timeline")
    before = state(stale)
    stale.keyboard.press("ArrowRight")
    moved = state(stale)
    assert moved["from"] > before["from"]
    assert moved["to"] - moved["from"] == pytest.approx(before["to"] - before["from"])
    stale.keyboard.press("+")
    closer = state(stale)
    assert closer["to"] - closer["from"] < moved["to"] - moved["from"]
    stale.keyboard.press("-")
    stale.keyboard.press("ArrowLeft")
    again = state(stale)
    assert (again["from"], again["to"]) == pytest.approx((before["from"], before["to"]))
    stale.keyboard.press("0")
    whole = state(stale)
    assert whole["from"] <= 0
    assert whole["to"] >= whole["span"]


def test_the_wheel_zooms_at_the_pointer_and_dragging_moves(stale: Any) -> None:
    box = stale.locator("#timeline").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] - 40
    stale.mouse.move(x, y)
    before = state(stale)
    stale.mouse.wheel(0, -400)
    stale.wait_for_function("(last) => refutePicture.state().to < last", arg=before["to"])
    closer = state(stale)
    assert closer["to"] - closer["from"] < before["to"] - before["from"]
    stale.mouse.down()
    stale.mouse.move(x - 200, y, steps=4)
    stale.mouse.up()
    assert state(stale)["from"] > closer["from"]


def test_an_operation_is_chosen_by_click_and_by_key(stale: Any) -> None:
    place = stale.evaluate("refutePicture.placeOf(5)")
    box = stale.locator("#timeline").bounding_box()
    stale.mouse.click(box["x"] + place["x"], box["y"] + place["y"])
    assert state(stale)["chosen"] == 5
    assert "n3" in stale.inner_text("#detail")
    stale.keyboard.press(",")
    assert state(stale)["chosen"] == 1
    stale.keyboard.press("2")
    assert state(stale)["chosen"] == 2
    assert "operation #2".upper() in stale.inner_text("#detail").upper()
    assert "write x 2" in stale.inner_text("#said")
    stale.keyboard.press("Escape")
    assert state(stale)["chosen"] == -1
    assert not stale.locator("#detail").is_visible()


def test_an_unknown_outcome_says_what_it_means(stale: Any) -> None:
    stale.keyboard.press("/")
    stale.keyboard.type("outcome:info kind:write")
    assert state(stale)["shown"] == 2
    place = stale.evaluate("refutePicture.placeOf(6)")
    box = stale.locator("#timeline").bounding_box()
    stale.mouse.click(box["x"] + place["x"], box["y"] + place["y"])
    assert state(stale)["chosen"] == 6
    assert "it may have happened, may still happen, or never" in stale.inner_text("#detail")
    assert "nobody knows" in stale.inner_text("#legend")


def test_filters_by_key_and_process_leave_the_others_out(stale: Any) -> None:
    assert state(stale)["shown"] == 7
    stale.select_option("#key", label="y")
    assert (state(stale)["shown"], state(stale)["rows"]) == (2, 2)
    stale.select_option("#key", label="all")
    stale.select_option("#process", label="1")
    assert (state(stale)["shown"], state(stale)["rows"]) == (2, 1)
    stale.focus("#timeline")
    stale.keyboard.press("n")
    assert state(stale)["shown"] == 7, "a conflict that the filter hides is shown whole"


def test_only_the_rows_of_the_conflict(stale: Any) -> None:
    stale.focus("#timeline")
    stale.keyboard.press("r")
    seen = state(stale)
    assert (seen["only"], seen["rows"]) == (True, 2)


def test_a_cycle_is_a_graph_with_typed_edges(opened: Opened) -> None:
    history = pictures.write_skew()
    page = opened(history, pictures.conflicts(history, "list-append"))
    graph = page.locator("svg.cycle")
    assert graph.get_attribute("aria-label") == "cycle: T0 rw T1, T1 rw T0"
    assert graph.locator(".edge text").all_text_contents() == ["rw", "rw"]
    graph.locator(".node").nth(1).click()
    assert state(page)["chosen"] == 1


def test_n_and_p_go_round_the_conflicts(opened: Opened) -> None:
    two = (Conflict("c", "first", "one", (0, 2)), Conflict("c", "second", "two", (5,)))
    page = opened(pictures.stale_read(), two)
    page.focus("#timeline")
    seen = []
    for key in ("n", "n", "p"):
        page.keyboard.press(key)
        seen.append((state(page)["focus"], state(page)["lit"]))
    assert seen == [(1, [5]), (0, [0, 2]), (1, [5])]
    assert "second" in page.inner_text("#said")


def test_hostile_values_are_shown_and_do_nothing(opened: Opened) -> None:
    lit = Conflict("c", pictures.HOSTILE, pictures.HOSTILE, (0, 1))
    page = opened(pictures.hostile(), (lit,), answer=pictures.HOSTILE)
    page.keyboard.press("1")
    assert pictures.HOSTILE in page.inner_text(".conflict.here")
    assert pictures.HOSTILE in page.inner_text("#detail")
    assert page.evaluate("window.broken") is None
    assert page.locator("img").count() == 0


def test_light_and_dark(opened: Opened) -> None:
    page = opened(pictures.stale_read())
    first = state(page)["theme"]
    page.focus("#timeline")
    page.keyboard.press("t")
    assert {first, state(page)["theme"]} == {"light", "dark"}


def test_it_can_be_printed(stale: Any) -> None:
    assert stale.pdf()[:5] == b"%PDF-"


def test_a_history_of_100_000_operations_can_be_read_and_moved_in(opened: Opened) -> None:
    history = pictures.long_history()
    target = next(op for op in history.operations[70_000:] if op.kind == "read")
    page = opened(history, (Conflict("linearizable", "stale read", "an old value", (10, target.index)),))
    seen = state(page)
    assert seen["operations"] == 100_000
    assert seen["lit"] == [10, target.index]
    page.focus("#timeline")
    page.keyboard.press("0")
    assert state(page)["drawn"] == 100_000
    page.select_option("#key", label="3")
    few = state(page)["shown"]
    assert few == sum(1 for op in history.operations if op.key == 3)
    page.focus("#timeline")
    page.keyboard.press("n")
    page.keyboard.press(".")
    assert state(page)["chosen"] == 10
    page.keyboard.press("0")
    for _ in range(12):
        page.keyboard.press("+")
    assert state(page)["drawn"] < 1000


def test_an_empty_history_says_so(opened: Opened) -> None:
    page = opened(History(()))
    assert state(page)["operations"] == 0
    assert "No checker found a conflict" in page.inner_text("#conflicts")
