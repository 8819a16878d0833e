"""Follows a command of a job through make targets, scripts of packages and shell scripts to the tests that it runs."""

# ruff: noqa: E501  (a table of patterns is read by its rows)

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from refute.repository.known_programs import is_harmless, starts_another, unwrapped
from refute.repository.makefile_text import Rules, expanded, rules_in, variables_in, without_signs
from refute.repository.pytest_settings import narrowed
from refute.repository.shell_text import Command, commands_in, script_of
from refute.repository.test_runs import TestRun
from refute.repository.test_tools import runs_of

_DEEPEST, _MOST_COMMANDS, _MOST_IN_ALL = 8, 4_000, 60_000
_STYLE = re.compile(r"lint|format|style|licen[cs]e|headers?\b|spell|docs?\b|changelog|release|publish|deploy|install|setup|build|download|package|notice|label|version|fmt|dependenc|cleanup|clean[-_.]|upload|bump|assign|tag|notify|typecheck|type-check|prepare|generate|codegen", re.I)  # fmt: skip


@dataclass
class Followed:
    """What a step was found to run: tests, and why something of it is not known."""

    runs: list[TestRun] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    commands: int = 0


class Follower:
    """Resolves commands with the texts of build files and scripts; `paths` is every file of the repository."""

    def __init__(self, texts: Mapping[str, str], paths: frozenset[str]) -> None:
        self._texts = texts
        self._paths = paths
        self._known: dict[tuple[str, str], Followed] = {}
        self._makefiles: dict[str, tuple[str, Rules, dict[str, str]]] = {}
        self._commands_left = _MOST_IN_ALL

    def follow(self, text: str, folder: str) -> Followed:
        """The tests that shell text runs when it begins in the folder."""
        key = (folder, text)
        if key not in self._known:
            found = Followed()
            self._script(text, folder, {}, found, 0)
            self._known[key] = found
        return self._known[key]

    def _script(
        self, text: str, folder: str, variables: Mapping[str, str], found: Followed, depth: int
    ) -> None:
        if depth > _DEEPEST:
            found.unknown.append("one calls another too often to follow")
            return
        script = script_of(text)
        self._commands(script.text, script.functions, folder, variables, found, depth)

    def _counted(self, found: Followed) -> bool:
        """Whether one more command may be followed, for this step and in all."""
        found.commands += 1
        self._commands_left -= 1
        if found.commands > _MOST_COMMANDS or self._commands_left < 0:
            if "more commands than are followed" not in found.unknown:
                found.unknown.append("more commands than are followed")
            return False
        return True

    def _commands(
        self, text: str, functions: Mapping[str, str], folder: str, variables: Mapping[str, str], found: Followed, depth: int
    ) -> None:  # fmt: skip
        for command in commands_in(text, folder, variables):
            if not self._counted(found):
                return
            words = unwrapped(command.words)
            if not words:
                continue
            before = len(found.runs)
            if words[0] in functions and depth <= _DEEPEST:
                others = {name: body for name, body in functions.items() if name != words[0]}
                self._commands(
                    functions[words[0]], others, command.folder, command.variables, found, depth + 1
                )
            else:
                self._command(words, command, found, depth)
            found.runs[before:] = [
                replace(
                    run, perhaps=run.perhaps or command.perhaps, forgiven=run.forgiven or command.forgiven
                )
                for run in found.runs[before:]
            ]

    def _command(self, words: list[str], command: Command, found: Followed, depth: int) -> None:
        folder = command.folder
        name = words[0].rsplit("/", 1)[-1]
        if name in ("bash", "sh", "zsh") and "-c" in words[1:-1]:
            self._script(words[words.index("-c") + 1], folder, command.variables, found, depth + 1)
            return
        if starts_another(words) and any(
            runs_of([word, *words[at + 1 :]], folder) for at, word in enumerate(words) if at
        ):
            found.unknown.append(f"where `{_shown(words)}` runs tests")
            return
        if is_harmless(words):
            return
        runs = runs_of(words, folder) if not words[0].startswith("$") else None
        if runs is not None:
            if folder == "?" and runs:
                found.unknown.append(f"where `{_shown(words)}` runs")
            else:
                found.runs += narrowed(runs, self._pytest_settings(folder), folder)
            return
        if words[1:2] == ["="] or re.fullmatch(r"[A-Z]\w+-[A-Z]\w+", name):
            return  # PowerShell: an assignment, a cmdlet
        asked = _ASKED.get(name)
        if asked is not None:
            asked(self, words[1:], command, found, depth)
        elif name == "cargo" and words[1:2] == ["xtask"]:
            found.unknown.append(f"what `{_shown(words)}` runs is decided in xtask")
        else:
            self._file(words, command, found, depth)

    def _pytest_settings(self, folder: str) -> str:
        names = ("pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
        paths = (posixpath.normpath(posixpath.join(folder or ".", name)) for name in names)
        return next((self._texts[path] for path in paths if "pytest" in self._texts.get(path, "")), "")

    def _file(self, words: list[str], command: Command, found: Followed, depth: int) -> None:
        """A script of the repository, or a program that is not known."""
        rest = (
            [word for word in words[1:] if not word.startswith("-")]
            if words[0]
            in (
                "bash",
                "sh",
                "zsh",
                "python",
                "python3",
                "ruby",
                "node",
                "perl",
                "tclsh",
                "pwsh",
                "deno",
                "escript",
                "php",
            )
            else words
        )
        file = rest[0] if rest else ""
        path = (
            posixpath.normpath(posixpath.join(command.folder or ".", file))
            if "$" not in file and command.folder != "?"
            else ""
        )
        if path in self._paths:
            text = self._texts.get(path, "")
            first = text.partition("\n")[0]
            if path.endswith((".sh", ".bash")) or re.match(r"#!.*\b(?:ba|z|da)?sh\b", first):
                self._script(text, command.folder, command.variables, found, depth + 1)
            elif not _STYLE.search(path):
                found.unknown.append(f"what {path} runs is decided as it runs")
            return
        if "/" not in words[0] and not words[0].startswith("$") and _STYLE.search(words[0]):
            return
        if words[0] == "?" or not re.fullmatch(r"[\w./+-]*[$]?[\w./{}+-]*", words[0]):
            found.unknown.append(f"`{_shown(words)}` cannot be read")
        elif not (_STYLE.search(file) and "$" not in file):
            found.unknown.append(f"what `{_shown(words)}` runs is not in this repository")

    def _make(self, arguments: list[str], command: Command, found: Followed, depth: int) -> None:
        folder, name = command.folder, ""
        goals, variables = [], dict(command.variables)
        rest = iter(arguments)
        for word in rest:
            if word in ("-C", "--directory"):
                folder = posixpath.normpath(posixpath.join(folder or ".", next(rest, "?")))
            elif word.startswith("-C") and len(word) > 2:
                folder = posixpath.normpath(posixpath.join(folder or ".", word[2:]))
            elif word in ("-f", "--file", "--makefile"):
                name = next(rest, "")
            elif word in ("-j", "-l", "-o", "-W"):
                following = next(rest, "")
                if following and not following.isdigit() and not following.startswith(("$", "-")):
                    goals.append(following)
            elif "=" in word and not word.startswith("-"):
                variables[word.partition("=")[0]] = word.partition("=")[2]
            elif not word.startswith("-"):
                goals.append(word)
        folder = "" if folder == "." else folder
        names = [name] if name else ["GNUmakefile", "makefile", "Makefile"]
        path = next(
            (
                where
                for one in names
                if (where := posixpath.normpath(posixpath.join(folder or ".", one))) in self._texts
            ),
            "",
        )
        if not path:
            if not goals or not all(_STYLE.search(goal) or goal == "all" for goal in goals):
                found.unknown.append(f"`make {' '.join(goals)}` has no Makefile in {folder or 'the root'}")
            return
        for goal in goals or [""]:
            self._target(path, goal, folder, variables, found, depth + 1, set())

    def _with_included(self, path: str) -> str:
        text = self._texts[path]
        for included in re.findall(r"^-?include\s+([\w./ -]+)$", text, re.M):
            for name in included.split():
                where = posixpath.normpath(posixpath.join(posixpath.dirname(path) or ".", name))
                text += "\n" + self._texts.get(where, "")
        return text

    def _makefile(self, path: str) -> tuple[str, Rules, dict[str, str]]:
        """The first target, the rules by target, and the plain variables of a Makefile; read once."""
        if path not in self._makefiles:
            text = self._with_included(path)
            rules: Rules = {}
            first = ""
            for names, needed, recipe in rules_in(text):
                first = first or next((name for name in names if not name.startswith(".")), "")
                for name in names:
                    rules.setdefault(name, []).append((needed, recipe))
            known = variables_in(text)
            self._makefiles[path] = (first, rules, known)
        return self._makefiles[path]

    def _target(
        self, path: str, goal: str, folder: str, variables: Mapping[str, str], found: Followed, depth: int, seen: set[str]
    ) -> None:  # fmt: skip
        if goal in seen or depth > _DEEPEST or not self._counted(found):
            return
        seen.add(goal)
        first, rules, plain = self._makefile(path)
        known = plain | dict(variables)
        goal = goal or first
        matched = rules.get(goal, [])
        if not matched:
            if not _STYLE.search(goal) and goal not in ("all", ""):
                found.unknown.append(f"{path} has no target {goal}")
            return
        if not any(needed.strip() or recipe for needed, recipe in matched) and not _STYLE.search(goal):
            found.unknown.append(f"{path} has no recipe of {goal} that can be read")
        for needed, recipe in matched:
            for other in expanded(needed, known).split():
                if other in rules:
                    self._target(path, other, folder, variables, found, depth + 1, seen)
            lines = "\n".join(line if joined else without_signs(line) for line, joined in recipe)
            lines = re.sub(
                r"\$[({]MAKE[)}]|\$[({]CURDIR[)}]/?", lambda one: "make" if "MAKE" in one[0] else "./", lines
            )
            # each line has a shell of its own
            for line in re.split(r"(?<!\\)\n", expanded(lines, known).replace("$$", "$")):
                self._script(line, folder, known, found, depth + 1)

    def _package(self, arguments: list[str], command: Command, found: Followed, depth: int) -> None:
        """A script of package.json, by the name that npm, yarn, pnpm or bun is given."""
        folder = command.folder
        words = list(arguments)
        for option in ("--prefix", "--cwd", "-C", "--dir"):
            if option in words[:-1]:
                at = words.index(option)
                folder = posixpath.normpath(posixpath.join(folder or ".", words[at + 1]))
                del words[at : at + 2]
        if any(
            re.match(r"-w\b|--workspace|--filter|-r$|--recursive|-F$|workspaces?$|foreach$", word)
            for word in words
        ):
            found.unknown.append(f"of which packages `{_shown(arguments)}` runs scripts")
            return
        words = [word for word in words if not word.startswith("-") or word == "--"]
        name = next((word for word in words if word not in ("run", "run-script", "--")), "")
        name = "test" if name in ("t", "tst") else name
        path = posixpath.normpath(posixpath.join(folder or ".", "package.json"))
        scripts = self._scripts(path)
        extra = words[words.index(name) + 1 :] if name in words else []
        if name in scripts:
            for one in (f"pre{name}", name, f"post{name}"):
                if one in scripts:
                    more = " ".join(word for word in extra if word != "--") if one == name else ""
                    self._script(
                        f"{scripts[one]} {more}",
                        "" if folder == "." else folder,
                        command.variables,
                        found,
                        depth + 1,
                    )
        elif runs := runs_of([name, *extra], folder) if name else []:
            found.runs += runs
        elif not _STYLE.search(name) and name:
            found.unknown.append(f"{path} has no script {name}")

    def _composer(self, arguments: list[str], command: Command, found: Followed, depth: int) -> None:
        name = next(
            (word for word in arguments if not word.startswith("-") and word not in ("run", "run-script")), ""
        )
        scripts = self._scripts(posixpath.normpath(posixpath.join(command.folder or ".", "composer.json")))
        if name in scripts:
            text = re.sub(
                r"^@(?!php\b)([\w:-]+)", r"composer \1", scripts[name].replace("@php ", "php "), flags=re.M
            )
            self._script(text, command.folder, command.variables, found, depth + 1)
        elif not _STYLE.search(name):
            found.unknown.append(f"composer has no script {name}")

    def _scripts(self, path: str) -> dict[str, str]:
        try:
            held = json.loads(self._texts.get(path, "{}")).get("scripts", {})
        except (ValueError, AttributeError, RecursionError):
            return {}
        found: dict[str, str] = {}
        for name, value in held.items() if isinstance(held, dict) else ():
            lines = value if isinstance(value, list) else [value]
            if all(isinstance(line, str) for line in lines):
                found[name] = "\n".join(lines)
        return found

    def _tox(self, _arguments: list[str], command: Command, found: Followed, depth: int) -> None:
        folder = command.folder
        text = next((self._texts[where] for name in ("tox.ini", "setup.cfg", "pyproject.toml")
                     if (where := posixpath.normpath(posixpath.join(folder or ".", name))) in self._texts and (name == "tox.ini" or "tox" in self._texts[where])), "")  # fmt: skip
        blocks = re.findall(r"^commands\s*=\s*(.*(?:\n[ \t]+.*|\n\s*\n)*)", text, re.M)
        if not blocks:
            found.unknown.append("tox has no commands that can be read")
        for block in blocks:
            lines = [re.sub(r"^(?:[\w!,.{}-]+\s*:\s+)|^-\s*", "", line.strip()) for line in block.split("\n")]
            text = "\n".join(
                re.sub(
                    r"\{posargs:?([^{}]*)\}|\{\[[^]]*\][^}]*\}|\{env\w*\}/bin/|\{toxinidir\}/?", r"\1", line
                )
                for line in lines
            )
            self._script(text.replace("\\\n", " "), folder, {}, found, depth + 1)

    def _nox(self, _arguments: list[str], command: Command, found: Followed, depth: int) -> None:
        text = self._texts.get(posixpath.normpath(posixpath.join(command.folder or ".", "noxfile.py")), "")
        called = re.findall(r"session\.run\(((?:[^()]|\([^()]*\))*)\)", text)
        if not called:
            found.unknown.append("nox has no sessions that can be read")
        for arguments in called:
            words = re.findall(r"[\"']([^\"'\n]*)[\"']", arguments)
            if words:
                self._command(words, Command(tuple(words), command.folder, 1), found, depth + 1)

    def _rake(self, arguments: list[str], command: Command, found: Followed, _depth: int) -> None:
        """The tasks of a Rakefile that are known by their classes: RSpec and Minitest."""
        where = posixpath.normpath(posixpath.join(command.folder or ".", "Rakefile"))
        text = self._texts.get(where, "")
        names = [word for word in arguments if not word.startswith("-") and "=" not in word] or ["default"]
        known = {"rspec": set(re.findall(r"RSpec::Core::RakeTask\.new\(?\s*[:\"']?(\w*)", text)),
                 "minitest": set(re.findall(r"(?:Rake::TestTask|Minitest::TestTask)\.(?:new|create)\(?\s*[:\"']?(\w*)", text))}  # fmt: skip
        usual = {"rspec": "spec", "minitest": "test"}
        for name in names:
            asked = {name}
            if name == "default":
                told = re.search(
                    r"(?:task|multitask)\s*\(?\s*(?::default|default:|\"default\")\s*(?:=>)?\s*(.*)", text
                )
                asked = set(re.findall(r"\w+", told.group(1))) if told else set()
            hit = False
            for tool, tasks in known.items():
                if asked & {task or usual[tool] for task in tasks if task != "do"} or (
                    asked & {usual[tool]} and "do" in tasks
                ):
                    place = posixpath.normpath(posixpath.join(command.folder or ".", usual[tool]))
                    found.runs.append(TestRun(tool, place, some=not _takes_all(text, usual[tool])))
                    hit = True
            if not hit and not _STYLE.search(name):
                found.unknown.append(f"what `rake {name}` runs is decided in {where}")

    def _container(self, arguments: list[str], command: Command, found: Followed, _depth: int) -> None:
        del command
        found.unknown.append(f"what runs in the container of `{_shown(['docker', *arguments])}`")


def _takes_all(rakefile: str, folder: str) -> bool:
    """Whether its tasks name no files, or all below the folder."""
    named = re.findall(r"(?:pattern|test_files|test_globs)\s*=\s*(.*)", rakefile)
    excluded = re.search(r"\.exclude\(|verify_only|\bexclude_pattern\b", rakefile)
    return not excluded and all(re.search(rf"[\"']\.?/?{folder}/\*\*/[\w*]*\.rb[\"']", one) for one in named)


_ASKED = {
    "make": Follower._make, "gmake": Follower._make, "npm": Follower._package, "yarn": Follower._package, "pnpm": Follower._package, "bun": Follower._package,
    "composer": Follower._composer, "tox": Follower._tox, "nox": Follower._nox, "rake": Follower._rake, "docker": Follower._container, "docker-compose": Follower._container, "podman": Follower._container,
}  # fmt: skip


def _shown(words: Sequence[str]) -> str:
    return " ".join(" ".join(words).split())[:60]
