"""Turns the data of one yaml block into a system or a scenario, with each fault of form at its own line."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from refute.plan.defect import Defect
from refute.plan.scenario import Scenario, substitute
from refute.plan.step_notation import read_fault, read_step
from refute.plan.system_spec import SystemSpec
from refute.plan.yaml_source import Path, YamlText

_FROM_ARMS = re.compile(r"^Value error, (?:steps|nemesis|arms)\[.*?\][^:]*:")


def read_system(data: Any, source: YamlText, section: str) -> tuple[SystemSpec | None, list[Defect]]:
    """The system that a block describes, or None and what is wrong with it."""
    subject = str(data.get("system", "")) if isinstance(data, dict) else ""
    try:
        return SystemSpec.model_validate(data), []
    except ValidationError as error:
        return None, _defects(error, SystemSpec, source, section, subject)


def read_scenario(data: Any, source: YamlText, section: str) -> tuple[Scenario | None, list[Defect]]:
    """The scenario that a block describes, or None and everything that is wrong with it."""
    subject = str(data.get("id", "")) if isinstance(data, dict) else ""
    defects = _sequence_defects(data, source, section, subject) if isinstance(data, dict) else []
    try:
        scenario = Scenario.model_validate(data)
    except ValidationError as error:
        found = _defects(error, Scenario, source, section, subject)
        if defects:
            # The model reads the sequence too, but stops at its first fault, and has no line for it.
            found = [defect for defect in found if not _FROM_ARMS.match("Value error, " + defect.what)]
        return None, defects + found
    return (None, defects) if defects else (scenario, [])


def _sequence_defects(data: dict[str, Any], source: YamlText, section: str, subject: str) -> list[Defect]:
    sweep = data.get("sweep") if isinstance(data.get("sweep"), dict) else {}
    parameters = {
        name: values[0] for name, values in (sweep or {}).items() if isinstance(values, list) and values
    }
    defects: list[Defect] = []
    sequences: list[tuple[Path, Any]] = [((name,), data.get(name)) for name in ("steps", "nemesis")]
    arms = data.get("arms")
    for place, arm in enumerate(arms if isinstance(arms, list) else []):
        if isinstance(arm, dict):
            sequences.append((("arms", place, "steps"), arm.get("steps")))
    for prefix, written in sequences:
        items = [written] if isinstance(written, dict) else written if isinstance(written, list) else []
        name = prefix[-1]
        for place, item in enumerate(items):
            path: Path = (*prefix, place) if isinstance(written, list) else prefix
            try:
                item = substitute(item, parameters)
                if name == "steps":
                    read_step(item, frozenset())
                else:
                    read_fault(item)
            except ValidationError as error:
                defects += _defects(error, None, source, section, subject, path)
            except ValueError as error:
                line = source.line_of(path)
                defects.append(Defect("bad-step", line, section, f"{name}[{place}]: {error}", "", subject))
    return defects


def _defects(
    error: ValidationError,
    model: type[BaseModel] | None,
    source: YamlText,
    section: str,
    subject: str,
    prefix: Path = (),
) -> list[Defect]:
    defects: dict[tuple[Any, ...], Defect] = {}
    for fault in error.errors(include_url=False, include_context=False):
        path = (*prefix, *fault["loc"])
        line = source.line_of(path)
        place = ".".join(str(part) for part in _in_data(path, source)) or "this block"
        rule, what, mend = _words(fault, place, model)
        defects.setdefault((rule, line, place), Defect(rule, line, section, what, mend, subject))
    return list(defects.values())


def _words(fault: Mapping[str, Any], place: str, model: type[BaseModel] | None) -> tuple[str, str, str]:
    """Rule, what is wrong, how to mend it, for one of pydantic's errors."""
    kind, loc, message = fault["type"], fault["loc"], str(fault["msg"])
    if kind == "extra_forbidden":
        known = _fields_at(model, loc[:-1])
        near = difflib.get_close_matches(str(loc[-1]), known, n=1, cutoff=0.5)
        mend = f"did you mean {near[0]!r}?" if near else f"known here: {', '.join(known)}" if known else ""
        return "unknown-key", f"unknown key {str(loc[-1])!r}", mend
    if kind == "missing":
        return "missing-key", f"{place}: the key {str(loc[-1])!r} is missing", ""
    if kind == "value_error":
        return (
            "bad-value",
            message.removeprefix("Value error, "),
            f"at {place}" if place != "this block" else "",
        )
    given = repr(fault.get("input"))
    given = given if len(given) < 60 else given[:57] + "…"
    return "wrong-type", f"{place}: {message[:1].lower() + message[1:]}, not {given}", ""


def _in_data(path: tuple[Any, ...], source: YamlText) -> Path:
    """The part of pydantic's location that is really in the data, without the names of unions' members."""
    here: Path = ()
    for part in path:
        if (*here, part) in source.lines:
            here = (*here, part)
    return here


def _fields_at(model: type[BaseModel] | None, loc: tuple[Any, ...]) -> list[str]:
    """The field names that a location allows, found by walking the model's annotations."""
    current: Any = model
    for part in loc:
        models = _models_in(current)
        following = [
            field.annotation
            for candidate in models
            for name, field in candidate.model_fields.items()
            if part in (name, field.alias)
        ]
        if following:
            current = following[0]
    names = [
        field.alias or name
        for candidate in _models_in(current)
        for name, field in candidate.model_fields.items()
    ]
    return list(dict.fromkeys(names))


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in get_args(annotation) for model in _models_in(argument)]
