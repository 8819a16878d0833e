"""Makes small repositories for the tests of this room."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path


def git(folder: Path, *arguments: str) -> str:
    """One git command in a repository that the test itself made."""
    command = ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    done = subprocess.run([*command, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit_files(folder: Path, files: Mapping[str, str | bytes], message: str = "all") -> Path:
    """A repository at `folder` with these files committed; an existing one gets another commit."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode() if isinstance(text, str) else text)
    if not (folder / ".git").exists():
        subprocess.run(["git", "init", "-q", "-b", "main", str(folder)], check=True)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", message)
    return folder
