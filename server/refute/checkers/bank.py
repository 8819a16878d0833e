"""Bank total: transfers move money about and never make or destroy it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from refute.checkers.judgement import Judgement
from refute.checkers.kinds import is_number, kinds
from refute.checkers.result import Budget, Result
from refute.history import History, Operation, Outcome


def check(
    history: History,
    *,
    budget: Budget,
    total: float | None = None,
    negative_balances: bool = False,
    accounts: int | None = None,
    read_kinds: object = (),
) -> Result:
    """Whether all balances that one read returns add up to the total, and none is below zero.

    A read returns a map from account to balance (or pairs). `total` is what they must add up to;
    without it, what the first read adds up to, which is then an assumption. `accounts` is how many a
    whole read has. Anomalies: `wrong-total`, `negative-balance`, `null-balance`, `missing-account`,
    `unexpected-account`. O(balances read).
    """
    known = kinds((), read_kinds)
    judgement = Judgement("bank-total", "balances added up read by read")
    reads = [o for o in history.operations if o.kind in known.reading]
    transfers = [o for o in history.operations if o.kind == "transfer"]
    names: set[Any] | None = None
    first: Operation | None = None
    for read in reads:
        balances = _balances(read) if read.outcome is Outcome.OK else None
        if read.outcome is not Outcome.OK:
            continue
        if balances is None:
            judgement.ignored["reads that return no map of balances"] += 1
            continue
        if not balances:
            judgement.cannot("a read returned no account at all")
            continue
        judgement.judged += 1
        missing = sorted(str(account) for account, balance in balances.items() if balance is None)
        if missing:
            judgement.found("null-balance", f"a read returned no balance for {', '.join(missing)}", (read,))
            continue
        if names is None:
            names, first = set(balances), read
        if set(balances) != names or (accounts is not None and len(balances) != accounts):
            lost = names - set(balances)
            name = "missing-account" if lost or len(balances) < (accounts or 0) else "unexpected-account"
            proof = (read,) if first is None or first is read else (first, read)
            judgement.found(name, f"a read returned {len(balances)} accounts, not the usual", proof)
            continue
        found = sum(balances.values())
        if total is None:
            total, first = found, read
            judgement.assumptions.append(f"the total is {found!r}, what the first read adds up to")
        if not _equal(found, total):
            proof = (read,) if first is None or first is read else (first, read)
            judgement.found("wrong-total", f"the balances add up to {found!r}, not {total!r}", proof)
        below = [account for account, balance in balances.items() if balance < 0]
        if below and not negative_balances:
            sentence = f"the balance of {below[0]} is {balances[below[0]]!r}"
            judgement.found("negative-balance", sentence, (read,))
    if not any(o.outcome is not Outcome.FAIL for o in transfers) and not judgement.anomalies:
        judgement.cannot("no transfer was tried, so that nothing could change the total")
    return judgement.result(
        [*reads, *transfers], nothing="no read returned balances", details={"total": total}
    )


def _balances(read: Operation) -> dict[Any, Any] | None:
    value = read.output
    if isinstance(value, list | tuple) and all(isinstance(p, list | tuple) and len(p) == 2 for p in value):
        value = {str(account): balance for account, balance in value}
    if not isinstance(value, Mapping):
        return None
    if not all(balance is None or is_number(balance) for balance in value.values()):
        return None
    return dict(value)


def _equal(found: float, total: float) -> bool:
    if isinstance(found, int) and isinstance(total, int):
        return found == total
    return abs(found - total) <= 1e-9 * max(1.0, abs(total))
