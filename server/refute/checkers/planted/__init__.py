"""Violations planted in copies of a history: what a checker does not notice, it cannot vouch for."""

from refute.checkers.planted.operator import Operator, Planting
from refute.checkers.planted.plant import operators_for, plant
from refute.checkers.planted.report import Missed, OperatorReport, PlantedReport

__all__ = ["Missed", "Operator", "OperatorReport", "PlantedReport", "Planting", "operators_for", "plant"]
