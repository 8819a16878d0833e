"""Running `ip`, `nft` and `tc`: what they say on stderr is an error, even where they exit well."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from typing import Any

from refute.nemesis.errors import NemesisError

_WITHIN_S = 10.0


def run(words: Sequence[str], script: str = "", *, strict: bool = True) -> str:
    """What the command prints. Raises NemesisError where it fails or, if `strict`, complains."""
    try:
        done = subprocess.run(
            words, input=script, capture_output=True, text=True, timeout=_WITHIN_S, check=False
        )
    except FileNotFoundError:
        raise NemesisError(f"{words[0]} is not installed", hint="install iproute2 and nftables") from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NemesisError(f"{words[0]} cannot be run: {error}") from error
    if done.returncode or (strict and done.stderr.strip()):
        said = " ".join(done.stderr.split())[:400] or f"exit {done.returncode}"
        raise NemesisError(f"{' '.join(words)} fails: {said}")
    return done.stdout


def nft(script: str) -> None:
    """Carry out a script of nft, whole or not at all. Raises NemesisError."""
    run(["nft", "-f", "-"], script)


def nft_listed(*what: str) -> list[dict[str, Any]]:
    """The objects that nft lists, without its preamble. Raises NemesisError."""
    listed: list[dict[str, Any]] = json.loads(run(["nft", "-j", "list", *what]))["nftables"]
    return [each for each in listed if "metainfo" not in each]
