"""The plan as data: claims, hypotheses, scenarios, arms, budgets; its reader, writer and rules."""

from refute.plan.document import Block, Claim, Hypothesis, Plan, PlanError, Section
from refute.plan.reader import parse_plan, read_plan
from refute.plan.scenario import Scenario
from refute.plan.system_spec import SystemSpec

__all__ = [
    "Block",
    "Claim",
    "Hypothesis",
    "Plan",
    "PlanError",
    "Scenario",
    "Section",
    "SystemSpec",
    "parse_plan",
    "read_plan",
]
