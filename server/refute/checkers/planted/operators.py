"""Every operator there is."""

from __future__ import annotations

from refute.checkers.planted import (
    on_counters,
    on_counts,
    on_deliveries,
    on_feeds,
    on_final_reads,
    on_groups,
    on_growing,
    on_linear_objects,
    on_list_append,
    on_lists,
    on_personal_models,
    on_polls,
    on_register_transactions,
    on_registers,
    on_services,
    on_sessions,
)
from refute.checkers.planted.operator import Operator

OPERATORS: tuple[Operator, ...] = (
    *on_registers.OPERATORS,
    *on_final_reads.OPERATORS,
    *on_counts.OPERATORS,
    *on_list_append.OPERATORS,
    *on_register_transactions.OPERATORS,
    *on_linear_objects.OPERATORS,
    *on_personal_models.OPERATORS,
    *on_sessions.OPERATORS,
    *on_growing.OPERATORS,
    *on_lists.OPERATORS,
    *on_counters.OPERATORS,
    *on_deliveries.OPERATORS,
    *on_polls.OPERATORS,
    *on_feeds.OPERATORS,
    *on_services.OPERATORS,
    *on_groups.OPERATORS,
)
