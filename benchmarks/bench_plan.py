"""How long a plan of 300 claims takes to read and to check, beside reading its Markdown outline alone."""

from __future__ import annotations

import time
from collections.abc import Callable

from refute.plan.check import check_plan
from refute.plan.markdown import read_outline
from refute.plan.reader import parse_plan

SYSTEM = """```yaml
system: three
nodes: 3
command: server --data {data}
states:
  leader: {http: /status, value: role, equals: leader}
  term: {http: /status, value: term}
clients:
  kv: {http: {operations: {read: {path: "/{key}", output: .}, write: {method: PUT, path: "/{key}"}}}}
```
"""


def plan_of(claims: int) -> str:
    """A plan with so many claims, a hypothesis and a scenario for each."""
    numbers = range(1, claims + 1)
    parts = ["# Plan: large\n", "## 1b. Claims\n", "| id | claim | category | source |\n|---|---|---|---|"]
    parts += [
        f"| C{n} | Promise {n} is kept: writes survive. | safety | `README.md:{n}@abc1234` |" for n in numbers
    ]
    parts += ["\n## 4. Hypotheses\n", "| id | hypothesis | claims |\n|---|---|---|"]
    parts += [f"| H{n} | Write {n} is lost. | C{n} |" for n in numbers]
    parts += ["\n## 6b. Environment\n", SYSTEM, "\n## 7. Scenarios\n"]
    parts += [
        f"### S{n} promise {n} is kept\n\n```yaml\nid: S{n}\nname: promise_{n}_is_kept\nfalsifies: [C{n}]\n"
        f"hypotheses: [H{n}]\nsystem: three\nsteps:\n  - await: {{leader: known}}\n"
        f"  - write: {{key: k, value: {n}, via: leader, expect: ok}}\n  - pause: leader as old\n"
        f"    evidence: {{node: not old, state: term, rule: increases}}\n  - read: {{key: k, via: all}}\n"
        f"check: [linearizable]\n```\n"
        for n in numbers
    ]
    return "\n".join(parts)


def best_of(runs: int, work: Callable[[], object]) -> float:
    """The shortest of several times, in seconds: the least disturbed one."""
    times = []
    for _ in range(runs):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return min(times)


def main() -> None:
    """Prints the figures and their ratio to the reference."""
    text = plan_of(300)
    reference = best_of(5, lambda: read_outline(text))
    read = best_of(5, lambda: parse_plan(text))
    checked = best_of(3, lambda: check_plan(text))
    print(f"plan of 300 claims and 300 scenarios, {len(text):,} characters")
    print(f"  outline (reference)  {reference:7.3f} s")
    print(f"  read                 {read:7.3f} s  {read / reference:5.1f} x")
    print(f"  read and check       {checked:7.3f} s  {checked / reference:5.1f} x")


if __name__ == "__main__":
    main()
