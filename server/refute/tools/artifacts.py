"""The tool that reads one file of a session, a page at a time."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from refute.tools.answer import MOST_CHARACTERS, Answer, Request
from refute.tools.problems import ToolError


class ReadArtifactRequest(Request):
    """A session folder, a file in it, and the first line that is wanted (from 1)."""

    session: str
    file: str
    line: int = Field(default=1, ge=1)
    limit: int = Field(default=200, ge=1, le=2000)


class Artifact(Answer):
    """Lines of the file; `left_out` lines follow, from `next_line` on."""

    file: str
    first_line: int
    content: str
    left_out: int
    next_line: int | None


def read_artifact(request: ReadArtifactRequest) -> Artifact:
    """Reads a file inside a session folder, and nothing outside of one. Raises ToolError."""
    session = Path(request.session).resolve()
    if not (session / "session.json").is_file():
        raise ToolError("this is not a session: it has no session.json", where=session)
    path = (session / request.file).resolve()
    if not path.is_relative_to(session) or not path.is_file():
        raise ToolError(f"the session has no file {request.file!r}", where=session)
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    shown: list[str] = []
    size = 0
    for line in lines[request.line - 1 : request.line - 1 + request.limit]:
        line = line if len(line) <= 4000 else f"{line[:4000]}… [{len(line) - 4000} characters left out]"
        if size + len(line) > MOST_CHARACTERS and shown:
            break
        shown.append(line)
        size += len(line)
    following = request.line + len(shown)
    left = max(0, len(lines) - following + 1)
    return Artifact(
        file=request.file,
        first_line=request.line,
        content="\n".join(shown),
        left_out=left,
        next_line=following if left else None,
    )
