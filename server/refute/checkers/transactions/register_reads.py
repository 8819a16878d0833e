"""Anomalies of registers that need no graph: what single reads saw that they must not have seen."""

from __future__ import annotations

from refute.checkers.transactions.findings import Findings
from refute.checkers.transactions.register_columns import RegisterColumns
from refute.checkers.transactions.timeline import FAIL
from refute.checkers.transactions.words import listed, named, shown

_MEMBERS = 10  # of the transactions that updated one version, so many are shown: two prove it


def judge_registers(columns: RegisterColumns, findings: Findings, *, gaps: str) -> None:
    """G1a, G1b, garbage reads, lost and dirty updates of registers; O(n)."""
    operations, outcome = columns.timeline.operations, columns.timeline.outcome
    for version, readers in enumerate(columns.readers):
        if not readers or columns.writer[version] == -1 or columns.key[version] in columns.ambiguous:
            continue
        reader, writer = operations[readers[0]], columns.writer[version]
        key = columns.keys[columns.key[version]]
        if writer < 0:
            if gaps:
                doubt = f"values were read whose write is not in the record ({gaps})"
                findings.ignored["values read that no readable transaction wrote"] += 1
                findings.doubts.extend([doubt] if doubt not in findings.doubts else [])
            elif findings.wants("garbage-read"):
                sentence = f"{named(reader)} read {columns.named(version)}, which nobody wrote."
                findings.show("garbage-read", sentence, [reader], {"key": key})
        elif outcome[writer] == FAIL:
            if findings.wants("G1a"):
                findings.show(
                    "G1a",
                    f"{named(reader)} read {columns.named(version)}, which {named(operations[writer])} wrote "
                    "and then failed: an aborted read or a mislabelled error.",
                    [operations[writer], reader],
                    {
                        "key": key,
                        "edges": [[operations[writer].index, reader.index, "wr", f"key {shown(key)}"]],
                    },
                )
        elif columns.replaced[version] >= 0:
            strangers = [txn for txn in readers if txn != writer]
            if strangers and findings.wants("G1b"):
                reader = operations[strangers[0]]
                findings.show(
                    "G1b",
                    f"{named(reader)} read {columns.named(version)}, which {named(operations[writer])} "
                    f"replaced by {columns.named(columns.replaced[version])} before it ended.",
                    [operations[writer], reader],
                    {
                        "key": key,
                        "edges": [[operations[writer].index, reader.index, "wr", f"key {shown(key)}"]],
                    },
                )
    _updates(columns, findings)


def _updates(columns: RegisterColumns, findings: Findings) -> None:
    operations, outcome = columns.timeline.operations, columns.timeline.outcome
    groups: dict[int, list[int]] = {}
    for txn, seen, _ in columns.updates:
        if columns.key[seen] not in columns.ambiguous:
            groups.setdefault(seen, []).append(txn)
    for seen, members in groups.items():
        writer = columns.writer[seen]
        key = columns.keys[columns.key[seen]]
        who = [operations[txn] for txn in members[:_MEMBERS]]
        if writer >= 0 and outcome[writer] == FAIL and findings.wants("dirty-update"):
            findings.show(
                "dirty-update",
                f"{named(who[0])} read {columns.named(seen)} of {named(operations[writer])}, which failed, "
                f"and wrote {shown(key)} on top of it.",
                [operations[writer], who[0]],
                {"key": key, "edges": [[operations[writer].index, who[0].index, "ww", f"key {shown(key)}"]]},
            )
        if len(members) > 1 and findings.wants("lost-update"):
            findings.show(
                "lost-update",
                f"{listed(who, len(members))} all read {columns.named(seen)} and then wrote {shown(key)}: "
                "none but the first may.",
                who,
                {"key": key, "transactions": len(members)},
            )
