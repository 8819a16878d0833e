"""Faults: injected by mechanisms behind five verbs, proven from two sides, and gone afterwards."""
