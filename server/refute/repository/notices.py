"""Says in what state a repository was found, in the same words in every answer."""

from __future__ import annotations

from refute.repository.snapshot import RepositorySnapshot


def notices(snapshot: RepositorySnapshot) -> tuple[str, ...]:
    """What a reader of any answer has to know of the repository; empty for a clean checkout."""
    found = [snapshot.unread_history, _without_commit(snapshot)]
    if snapshot.shallow:
        found.append("The clone is shallow: history is cut off, files are whole.")
    found.append(snapshot.work_tree.sentence())
    if snapshot.submodules:
        found.append(f"Submodules are not entered: {', '.join(snapshot.submodules[:5])}.")
    return tuple(filter(None, found))


def _without_commit(snapshot: RepositorySnapshot) -> str:
    if snapshot.commit is not None:
        return ""
    if snapshot.repo is None:
        return (
            "Not a git commit: citations carry no revision."
            if snapshot.files
            else "There are no files in it."
        )
    if snapshot.references:
        names = sorted(name.split("/", 2)[-1] for name in snapshot.references)[:5]
        return f"HEAD names no commit; ask for a revision that there is: {', '.join(names)}."
    return "There is no commit, or nothing in it."
