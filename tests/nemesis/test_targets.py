"""Nobody but a person who writes a file can aim a fault at another machine, and at production not even they."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from refute.nemesis import targets
from refute.nemesis.targets import TargetRefusedError, is_loopback, read_targets, require_allowed
from refute.tools.registry import TOOLS

ALLOWED = '[[target]]\nhost = "lab7.example.org"\nports = [8474]\nwhy = "the lab, agreed with its owner"\n'


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / ".config" / "refute" / "targets.toml"
    path.parent.mkdir(parents=True, mode=0o755)
    path.parent.chmod(0o755)
    path.parent.parent.chmod(0o755)
    monkeypatch.setattr(targets, "allow_list", lambda: path)
    return path


def write(path: Path, text: str, mode: int = 0o644) -> None:
    path.write_text(text)
    path.chmod(mode)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.8.9.1", "::1", "localhost", "LOCALHOST", "::ffff:127.0.0.1"]
)
def test_loopback_needs_no_leave(file: Path, host: str) -> None:
    require_allowed(host, 8474, what="toxiproxy")


@pytest.mark.parametrize(
    "host",
    [
        *("10.1.2.3", "lab7.example.org", "0.0.0.0", "::", "169.254.169.254", "::ffff:10.1.2.3"),
        *(
            "127.1",
            "2130706433",
            "0x7f000001",
            "0177.0.0.1",
            "127.0.0.1.example.org",
            "localhost.example.org",
        ),
        *("127.0.0.1@10.1.2.3", "127.0.0.1/../10.1.2.3", "127.0.0.1#x", "localhost.", " 127.0.0.1", ""),
        *("[::1]", "::127.0.0.1", "::ffff:0:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "fe80::1%lo"),
        *(
            "127.0.0.1:8474",
            "127.0.0.01",
            "127.000.000.001",
            "1270.0.0.1",
            "٠.0.0.1",
            "localhost\0",
            "LocalHost.local",
        ),
        *("10.0.0.0/8", "*", "127.0.0.1,10.1.2.3", "127.0.0.1\n10.1.2.3", "ⓛocalhost"),
    ],
)
def test_whatever_is_not_loopback_is_refused_while_nobody_has_allowed_it(file: Path, host: str) -> None:
    assert not is_loopback(host)
    with pytest.raises(TargetRefusedError):
        require_allowed(host, 8474, what="toxiproxy")


def test_a_person_allows_one_host_and_port_exactly(file: Path) -> None:
    write(file, ALLOWED)
    require_allowed("lab7.example.org", 8474, what="toxiproxy")
    require_allowed("LAB7.example.org", 8474, what="toxiproxy")
    for host, port in (("lab7.example.org", 8475), ("lab8.example.org", 8474), ("x.lab7.example.org", 8474)):
        with pytest.raises(TargetRefusedError, match="nobody has allowed it"):
            require_allowed(host, port, what="toxiproxy")


@pytest.mark.parametrize(
    "host",
    [
        "prod",
        "db-prod-2.example.org",
        "PROD1",
        "production.example.org",
        "eu1prod",
        "prd-3",
        "live.example.org",
        "x.prod.y",
        *("proddb", "prodeu1.example.org", "myproduction1", "PreProd.example.org", "eu_PROD_7"),
    ],
)
def test_production_is_refused_even_where_somebody_has_allowed_it(file: Path, host: str) -> None:
    write(file, ALLOWED.replace("lab7.example.org", host))
    with pytest.raises(TargetRefusedError, match="means production, which is never a target"):
        require_allowed(host, 8474, what="toxiproxy")


@pytest.mark.parametrize("host", ["products", "reproduce", "delivery", "product-tests.example.org"])
def test_a_word_that_only_begins_like_it_is_not_production(file: Path, host: str) -> None:
    write(file, ALLOWED.replace("lab7.example.org", host))
    require_allowed(host, 8474, what="toxiproxy")


@pytest.mark.parametrize("mode", [0o664, 0o646, 0o666])
def test_a_file_that_others_may_write_allows_nothing(file: Path, mode: int) -> None:
    write(file, ALLOWED, mode)
    with pytest.raises(TargetRefusedError, match="others may write to it"):
        require_allowed("lab7.example.org", 8474, what="toxiproxy")


def test_nor_does_one_in_a_folder_that_others_may_write(file: Path) -> None:
    write(file, ALLOWED)
    file.parent.chmod(0o777)
    with pytest.raises(TargetRefusedError, match="others may write to it"):
        require_allowed("lab7.example.org", 8474, what="toxiproxy")


def test_nor_one_of_somebody_else(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(file, ALLOWED)
    owner = file.stat().st_uid
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    if owner == 0:  # the superuser's files count for everybody
        os.chown(file, 4711, -1)
    with pytest.raises(TargetRefusedError, match="belongs to somebody else"):
        require_allowed("lab7.example.org", 8474, what="toxiproxy")


def test_nor_a_link_to_a_file_elsewhere(file: Path, tmp_path: Path) -> None:
    write(tmp_path / "elsewhere.toml", ALLOWED)
    file.symlink_to(tmp_path / "elsewhere.toml")
    with pytest.raises(TargetRefusedError, match="cannot be read"):
        require_allowed("lab7.example.org", 8474, what="toxiproxy")


@pytest.mark.parametrize(
    "text",
    [
        "[[target]\n",
        'host = "lab7.example.org"\n',
        ALLOWED.replace('why = "the lab, agreed with its owner"', ""),
        ALLOWED.replace('"the lab, agreed with its owner"', '" "'),
        ALLOWED.replace("[8474]", "[]"),
        ALLOWED.replace("[8474]", '["*"]'),
        ALLOWED.replace("[8474]", "[true]"),
        ALLOWED.replace("lab7.example.org", "*.example.org"),
        ALLOWED.replace("lab7.example.org", "10.0.0.0/8"),
        ALLOWED + "[all]\n",
        ALLOWED + 'anything = "more"\n',
    ],
)
def test_a_file_with_one_mistake_allows_nothing_at_all(file: Path, text: str) -> None:
    write(file, text)
    with pytest.raises(TargetRefusedError):
        require_allowed("lab7.example.org", 8474, what="toxiproxy")


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo], ids=["folder", "pipe"])
def test_what_stands_in_its_place_and_is_no_file_allows_nothing_and_is_not_waited_for(
    file: Path, make: Any
) -> None:
    make(file, mode=0o700)
    with pytest.raises(TargetRefusedError, match="it is no file"):
        require_allowed("lab7.example.org", 8474, what="toxiproxy")


def test_a_user_without_an_account_has_allowed_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 2**31 - 7)
    with pytest.raises(TargetRefusedError, match="has no account here"):
        require_allowed("lab7.example.org", 8474, what="toxiproxy")


def test_no_variable_moves_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_CONFIG_HOME", "REFUTE_STATE", "REFUTE_CONFIG", "REFUTE_TARGETS"):
        monkeypatch.setenv(name, str(tmp_path))
    assert tmp_path not in targets.allow_list().parents


def test_no_file_is_no_leave(tmp_path: Path) -> None:
    assert read_targets(tmp_path / "targets.toml") == ()


def names_of(schema: Any) -> set[str]:
    if isinstance(schema, dict):
        own = set(schema.get("properties", {}))
        return own.union(*(names_of(value) for value in schema.values()))
    return set().union(*map(names_of, schema)) if isinstance(schema, list) else set()


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_no_tool_takes_an_address_or_the_place_of_the_file(tool: Any) -> None:
    fields = names_of(tool.request_type().model_json_schema())
    assert not fields & {
        "host",
        "address",
        "url",
        "endpoint",
        "engine",
        "targets",
        "allow",
        "allow_list",
        "config",
    }


def test_the_tools_that_may_do_harm_say_so() -> None:
    assert {tool.name for tool in TOOLS if tool.destroys} >= {"manage_system", "inject_fault", "start_run"}
