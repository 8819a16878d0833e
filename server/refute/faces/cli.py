"""The command line: every tool in a shell, one line for an error, one exit code for each outcome."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from refute import __version__
from refute.errors import RefuteError
from refute.faces import agent_commands, machine_commands, plan_commands, run_commands
from refute.faces.shell import pairs, show, value


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns its exit code.

    64: the caller's input is at fault; 69: something needed is missing; 70: refute itself is; 141: the
    answer was not read to its end. `run` and `verify`: 0 all passed, 1 something failed, 2 neither.
    `check`: 0 valid, 1 invalid, 2 unknown.
    """
    parser = build_parser()
    try:
        given = parser.parse_args(arguments)
    except SystemExit as leaving:
        return 64 if leaving.code == 2 else int(leaving.code or 0)
    if "handler" not in given:
        parser.print_help()
        return 64
    try:
        code: int = given.handler(given)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141  # as where SIGPIPE ends a process: 0 would say that all is well
    except RefuteError as error:
        print(f"refute: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("refute: interrupted", file=sys.stderr)
        return 130
    except Exception as error:
        if os.environ.get("REFUTE_DEBUG"):
            raise
        if type(error).__name__ == "ValidationError":
            print(f"refute: {_first_fault(error)}", file=sys.stderr)
            return 64
        hint = "set REFUTE_DEBUG=1 for the trace"
        print(f"refute: this is a bug in refute: {type(error).__name__}: {error} ({hint})", file=sys.stderr)
        return 70


def build_parser() -> argparse.ArgumentParser:
    """The whole command line; handlers import what they need when they run."""
    parser = argparse.ArgumentParser(
        prog="refute", description="Find out whether a distributed system keeps its promises."
    )
    parser.add_argument("--version", action="version", version=f"refute {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    _add_repository_commands(commands)
    _add_plan_commands(commands)
    _add_run_commands(commands)
    _add_machine_commands(commands)
    check = _command(commands, "check", "one history, one answer", _check)
    check.add_argument("history")
    check.add_argument("--model", help="a checker, or a model of linearizable; by default from the kinds")
    check.add_argument("--option", action="append", default=[], metavar="NAME=VALUE")
    check.add_argument("--format", help="the format of the file, where it cannot be told")
    check.add_argument("--user-model", metavar="FILE.py:CLASS", help="your own model; the file is run")
    check.add_argument("--time-limit", type=float, default=60.0, metavar="SECONDS")
    check.add_argument("--memory-limit", type=float, default=1500.0, metavar="MB")
    check.add_argument(
        "--plot", metavar="FILE.html", help="write a picture of the history, one page, no network"
    )
    check.add_argument("--count-bad-lines", action="store_true", help="count unreadable lines, do not stop")
    call = _command(commands, "tool", "call any tool of the server by its name, with a JSON request", _tool)
    call.add_argument("name")
    call.add_argument("request", nargs="?", default="{}", help="the fields of its request, as JSON")
    _add_agent_commands(commands)
    mcp = commands.add_parser("mcp", help="serve the tools to an agent")
    mcp.add_argument("--transport", choices=("stdio", "http"), default="stdio")
    mcp.add_argument("--port", type=int, default=8765)
    mcp.add_argument("--toolsets", default="read,run,fault", help="of read, run, fault (default: all)")
    mcp.set_defaults(handler=_mcp)
    return parser


def _command(commands: Any, name: str, text: str, handler: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text)
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout and nothing else")
    parser.set_defaults(handler=handler)
    return parser


def _add_repository_commands(commands: Any) -> None:
    for name, text, tool in (
        ("map", "what a repository is made of", "map_repository"),
        ("scope", "what a change touches", "scope_change"),
        ("claims", "what a product promises", "extract_claims"),
        ("toolbox", "how its tests are run", "discover_toolbox"),
    ):
        parser = _command(commands, name, text, plan_commands.repository)
        parser.add_argument("repository")
        parser.add_argument("--jsonl", action="store_true", help="one item a line, in rank order")
        parser.add_argument(
            "--start",
            type=int,
            default=0,
            metavar="LINES",
            help="pass over so many lines; a cut answer tells",
        )
        if name == "scope":
            parser.add_argument(
                "--change",
                default="HEAD",
                metavar="A..B",
                help="a commit, a range or a branch (default: HEAD)",
            )
        else:
            parser.add_argument("--revision", default="HEAD")
        if name == "claims":
            parser.add_argument("--top", type=int, help="default: what promises enough, 40 at most")
        parser.set_defaults(tool=tool)


def _add_plan_commands(commands: Any) -> None:
    plan = commands.add_parser("plan", help="check a plan, make a first one, write out its tests")
    within = plan.add_subparsers(title="commands", metavar="COMMAND", required=True)
    check = _command(within, "check", "what a reviewer would find in a plan", plan_commands.check)
    check.add_argument("plan")
    check.add_argument("--repository", help="where its citations point")
    check.add_argument("--limit", type=int, default=40, help="most findings to show; default: 40")
    check.add_argument("--matrices", action="store_true", help="also what follows from the plan's data")
    scaffold = _command(within, "scaffold", "a first plan from a repository", plan_commands.scaffold)
    scaffold.add_argument("repository")
    scaffold.add_argument("--slug", required=True)
    scaffold.add_argument("--change", metavar="REV")
    scaffold.add_argument("--output", metavar="FILE", help="default: stdout")
    author = _command(
        within, "author", "its scenarios written out as tests, where it says", plan_commands.author
    )
    author.add_argument("plan")
    author.add_argument("--repository", metavar="DIR", help="default: the one that the plan lies in")
    author.add_argument("--scenario", action="append", default=[], metavar="ID")
    author.add_argument(
        "--target",
        metavar="PATH",
        help="one of the places that the plan declares; where it declares none, the place to write to",
    )
    author.add_argument(
        "--language", help="one of the languages that the plan declares; needed beside another --target"
    )
    author.add_argument("--dry-run", action="store_true", help="say what would be written")
    author.add_argument(
        "--allow-format", action="store_true", help="run the repository's own formatter on what is written"
    )


def _add_run_commands(commands: Any) -> None:
    demo = _command(commands, "demo", "the whole job on a bundled three-node store", run_commands.demo)
    demo.add_argument("--fixed", action="store_true", help="the store's next release: nothing may fail")
    demo.add_argument("--session-root", type=Path, default=Path("test-sessions"))
    run = _command(commands, "run", "run a plan", run_commands.run)
    run.add_argument("plan", nargs="?", type=Path)
    run.add_argument("--scenario", action="append", default=[], metavar="ID")
    run.add_argument("--budget", choices=("smoke", "hardening", "release"), default="smoke")
    run.add_argument("--seed", type=int, default=1)
    run.add_argument(
        "--var", action="append", default=[], metavar="NAME=VALUE", help="a variable of the system"
    )
    run.add_argument("--parallel", type=int, default=1, help="scenarios at a time (default 1)")
    run.add_argument("--session-root", type=Path, default=Path("test-sessions"))
    run.add_argument("--resume", type=Path, metavar="SESSION", help="go on with an interrupted session")
    run.add_argument("--judge", action="store_true", help="with --resume: only judge what is on disk")
    reduce = _command(
        commands,
        "reduce",
        "make a failure smaller: fewer operations, a smaller scenario",
        run_commands.reduce,
    )
    reduce.add_argument("where", metavar="SESSION|HISTORY")
    reduce.add_argument("id", nargs="?", help="the scenario of the session that failed")
    reduce.add_argument("--model", help="for a history: the checker or model that it violates")
    reduce.add_argument("--option", action="append", default=[], metavar="NAME=VALUE")
    reduce.add_argument("--time-limit", type=float, default=60.0, metavar="SECONDS", help="for the history")
    reduce.add_argument("--rerun", action="store_true", help="look for a smaller scenario too, by running")
    reduce.add_argument("--reruns", type=int, default=3, help="runs of each smaller scenario (default 3)")
    reduce.add_argument("--most-runs", type=int, default=60, help="runs in all (default 60)")
    reduce.add_argument("--run-time-limit", type=float, default=900.0, metavar="SECONDS")
    for name, text, handler in (
        ("verify", "recompute every verdict of a session", run_commands.verify_session),
        ("report", "verify a session and show where its report is", run_commands.report),
        ("status", "how far a run is", run_commands.status),
        ("cancel", "stop a run in order", run_commands.cancel),
    ):
        _command(commands, name, text, handler).add_argument("session")


def _add_machine_commands(commands: Any) -> None:
    env = _command(commands, "env", "what this machine can do", machine_commands.env)
    env.add_argument("--plan", metavar="PLAN", help="also whether its scenarios find their faults here")
    faults = _command(commands, "faults", "every fault and whether it works here", machine_commands.faults)
    faults.add_argument("--plane")
    faults.add_argument("--no-probe", action="store_true")
    _command(commands, "heal", "undo every fault that is still on", machine_commands.heal)


def _add_agent_commands(commands: Any) -> None:
    install = _command(commands, "install", "make refute known to a coding agent", agent_commands.install)
    install.add_argument("--agent", required=True, metavar="NAME", help="claude, cursor, vscode, gemini, ...")
    install.add_argument("--project", type=Path, default=Path(), help="its directory (default: this one)")
    install.add_argument("--dry-run", action="store_true", help="only say what would be written")
    install.add_argument("--force", action="store_true", help="replace what stands there")
    agent = commands.add_parser(
        "agent", help="let a model design or execute a plan, through the Anthropic API"
    )
    within = agent.add_subparsers(title="commands", metavar="COMMAND", required=True)
    design = _command(within, "design", "a plan for a repository, or for a change", agent_commands.design)
    design.add_argument("repository", type=Path)
    design.add_argument("--slug", required=True, help="the plan is docs/testing-plans/SLUG.md")
    design.add_argument("--change", default="", metavar="A..B")
    design.add_argument("--request", default="", help="what to plan for (a chat prompt's name, or words)")
    execute = _command(within, "execute", "run a plan and follow up what it finds", agent_commands.execute)
    execute.add_argument("plan", type=Path)
    execute.add_argument("--budget", choices=("smoke", "hardening", "release"), default="smoke")
    execute.add_argument("--request", default="", help="what to look for, in words")
    for parser in (design, execute):
        parser.add_argument(
            "--model", default="", help="which model (default: REFUTE_MODEL, or refute's choice)"
        )
        parser.add_argument(
            "--max-replies", type=int, default=80, metavar="N", help="of the model (default 80)"
        )
        parser.add_argument(
            "--yes", action="store_true", help="agree beforehand to all it does to a live system"
        )
        parser.add_argument("--transcript", type=Path, metavar="FILE", help="append every reply, a line each")


def _check(given: argparse.Namespace) -> int:
    from refute.tools.histories import CheckHistoryRequest, check_history, check_history_by

    request = CheckHistoryRequest(
        history=given.history,
        model=given.model,
        format=given.format,
        options={name: value(text) for name, text in pairs(given.option)},
        time_limit_s=given.time_limit,
        memory_limit_bytes=int(given.memory_limit * 1e6),
        on_bad_line="count" if given.count_bad_lines else "error",
        plot=given.plot,
    )
    answer = check_history_by(request, given.user_model) if given.user_model else check_history(request)
    show(given, answer)
    return 2 if isinstance(answer.valid, str) else int(not answer.valid)


def _tool(given: argparse.Namespace) -> int:
    from refute.tools.problems import ToolError
    from refute.tools.registry import TOOLS

    found = next((row for row in TOOLS if row.name == given.name), None)
    if found is None:
        known = ", ".join(row.name for row in TOOLS)
        raise ToolError(f"there is no tool {given.name!r}", hint=f"there are {known}")
    try:
        request = json.loads(given.request)
    except ValueError as error:
        raise ToolError(f"the request is not JSON: {error}") from None
    show(given, found.load()(found.request_type().model_validate(request)))
    return 0


def _mcp(given: argparse.Namespace) -> int:
    from refute.faces.mcp_server import serve

    serve(given.transport, given.port, given.toolsets)
    return 0


def _first_fault(error: Any) -> str:
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc'])) or 'input'}: {first['msg']}"


if __name__ == "__main__":
    sys.exit(main())
