"""Undo verbs of the toxiproxy plane: take our own toxic off, switch our own proxy on, remove it."""

from __future__ import annotations

from refute.nemesis.toxiproxy.api import Api, GoneError
from refute.nemesis.undo import Handle, UndoVerb


def _take_off(handle: Handle) -> None:
    try:
        Api(handle["api"]).remove(handle["proxy"], handle["toxic"])
    except GoneError:
        return


def _still_on(handle: Handle) -> str | None:
    try:
        found = Api(handle["api"]).proxies().get(handle["proxy"], {"toxics": []})
    except GoneError:
        return None
    there = handle["toxic"] in [toxic["name"] for toxic in found["toxics"] or ()]
    return f"toxic {handle['toxic']} is still on proxy {handle['proxy']}" if there else None


def _switch_on(handle: Handle) -> None:
    try:
        Api(handle["api"]).enable(handle["proxy"], on=True)
    except GoneError:
        return


def _still_off(handle: Handle) -> str | None:
    try:
        found = Api(handle["api"]).proxies().get(handle["proxy"], {"enabled": True})
    except GoneError:
        return None
    return None if found["enabled"] else f"proxy {handle['proxy']} is still off"


def _remove(handle: Handle) -> None:
    try:
        Api(handle["api"]).delete(handle["proxy"])
    except GoneError:
        return


def _still_there(handle: Handle) -> str | None:
    try:
        there = handle["proxy"] in Api(handle["api"]).proxies()
    except GoneError:
        return None
    return f"proxy {handle['proxy']} is still there" if there else None


VERBS = {
    "remove-toxic": UndoVerb(_take_off, _still_on),
    "enable-proxy": UndoVerb(_switch_on, _still_off),
    "remove-proxy": UndoVerb(_remove, _still_there),
}
