"""Every operator there is."""

from __future__ import annotations

from refute.checkers.planted import on_counts, on_final_reads, on_list_append, on_registers
from refute.checkers.planted.operator import Operator

OPERATORS: tuple[Operator, ...] = (
    *on_registers.OPERATORS,
    *on_final_reads.OPERATORS,
    *on_counts.OPERATORS,
    *on_list_append.OPERATORS,
)
