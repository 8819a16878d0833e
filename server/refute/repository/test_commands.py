"""The command that runs the tests of one file or folder, and where: by its language and the build files around it."""

# ruff: noqa: E501  (a table is read by its rows)

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from dataclasses import dataclass

__test__ = False
# what holds the package that a source file of this extension belongs to
_MANIFESTS: dict[str, tuple[str, ...]] = {
    "go": ("go.mod",), "rb": ("gemfile", "rakefile"), "ex": ("mix.exs",), "exs": ("mix.exs",), "swift": ("package.swift",),
    "php": ("phpunit.xml.dist", "phpunit.xml", "composer.json"), "zig": ("build.zig",), "cs": (".csproj", ".fsproj"), "rs": ("cargo.toml",),
    "js": ("package.json",), "ts": ("package.json",), "tsx": ("package.json",),
}  # fmt: skip
_JVM = frozenset({"java", "kt", "groovy", "scala"})
_GRADLE = ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts")
_JVM_BUILDS = (*_GRADLE, "pom.xml", "build.sbt")
_NODE_RUNNERS = (
    ("jest.config.", "npx jest"), ("vitest.config.", "npx vitest run"), (".mocharc", "npx mocha"),
    ("playwright.config.", "npx playwright test"), ("ava.config.", "npx ava"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class BuildFiles:
    """The paths of a repository in small letters, by folder: what is built by what."""

    by_folder: dict[str, frozenset[str]]

    @classmethod
    def of(cls, paths: Iterable[str]) -> BuildFiles:
        """From all paths of the repository."""
        folders: dict[str, set[str]] = {}
        for path in paths:
            folder, _, name = path.rpartition("/")
            folders.setdefault(folder, set()).add(name.lower())
        return cls({folder: frozenset(names) for folder, names in folders.items()})

    def has(self, *names: str, folder: str = "") -> bool:
        """Whether one of these files (or of these extensions) is in the folder."""
        there = self.by_folder.get(folder, frozenset())
        return any(
            name in there or (name.startswith(".") and any(one.endswith(name) for one in there))
            for name in names
        )

    def begins(self, start: str, folder: str = "") -> bool:
        """Whether a file whose name begins so is in the folder."""
        return any(name.startswith(start) for name in self.by_folder.get(folder, ()))

    def package_of(self, path: str, *manifests: str) -> str | None:
        """The nearest folder above the path that holds such a manifest; "" is the root, None where there is none."""
        folder = path.rpartition("/")[0]
        while True:
            if self.has(*manifests, folder=folder):
                return folder
            if not folder:
                return None
            folder = folder.rpartition("/")[0]


def command_for(place: str, example: str, builds: BuildFiles) -> tuple[str, str]:
    """The command for the folder (or the one file, where `place` is `example`) and its working directory.

    Without a command where none is known to run just these tests: better none than a wrong one.
    """
    extension = example.rsplit(".", 1)[-1]
    one = place == example
    manifests = _MANIFESTS.get(extension, ())
    if extension in _JVM and not builds.has(*_JVM_BUILDS):
        manifests = _JVM_BUILDS  # of a part alone, where the root has none
    package = builds.package_of(example, *manifests)
    if package and package.startswith(f"{place}/"):
        return "", "."  # the folder holds packages, and is none
    within = package if package and f"{place}/".startswith(f"{package}/") else ""
    if within == place and extension == "php":
        within = ""  # what is installed stands at the root
    inner = posixpath.relpath(place, within) if within else place
    stem = place.rsplit("/", 1)[-1].rsplit(".", 1)[0]
    if extension in _JVM:
        module = builds.package_of(example, *_JVM_BUILDS, ".gradle", ".gradle.kts") or ""
        if module.startswith(f"{place}/"):
            return "", "."
        module = posixpath.relpath(module, within or ".") if module != within else ""
        return _on_the_jvm(extension, example, stem, module, builds, within, one=one), within or "."
    command = _command(extension, inner, stem, one=one, known=package is not None, builds=builds, within=within)  # fmt: skip
    return command, within or "."


def _command(
    extension: str, inner: str, stem: str, *, one: bool, known: bool, builds: BuildFiles, within: str
) -> str:
    if extension == "rb":
        if stem.endswith("_spec") or (not one and builds.has(".rspec", folder=within)):
            return f"bundle exec rspec {inner}"
        return (f"bundle exec ruby -Itest {inner}" if stem.endswith("_test") or stem.startswith("test_") else "") if one else "bundle exec rake test"  # fmt: skip
    if extension in ("ex", "exs"):
        runs = known and (stem.endswith("_test") if one else True)
        return ("mix test" if inner in ("test", ".") else f"mix test {inner}") if runs else ""
    if extension == "php":
        runner = "pest" if builds.has("pest.php", folder=f"{within}/tests".strip("/")) else "phpunit"
        return f"vendor/bin/{runner} {inner}" if known else ""
    if extension == "cs":
        if not builds.has(".csproj", ".fsproj", ".sln", ".slnx", folder=within):
            return ""  # the command looks no further than its own folder
        return f"dotnet test --filter FullyQualifiedName~{stem}" if one else "dotnet test"
    if extension == "swift":
        chosen = one or inner.startswith("Tests/")
        return (f"swift test --filter {stem}" if chosen else "swift test") if known else ""
    if extension == "zig":
        return "zig build test" if known else ""
    if extension == "rs":
        return _with_cargo(inner, stem, one=one) if builds.has("cargo.toml", folder=within) else ""
    if extension == "go":
        folder = inner.rpartition("/")[0] if one else "..." if inner == "." else f"{inner}/..."
        return f"go test ./{folder}"
    if extension in ("js", "ts", "tsx"):
        return _with_node(inner, builds, within) if known else ""
    return {
        "py": f"pytest {inner}", "erl": f"make ct-{stem.removesuffix('_SUITE')}" if one else "make ct", "tcl": "./runtest", "clj": "lein test",
    }.get(extension, "")  # fmt: skip


def _with_cargo(inner: str, stem: str, *, one: bool) -> str:
    """In the folder of the crate; a file or a folder with a `main.rs` just below `tests` or `benches` is a target."""
    folder, _, rest = inner.partition("/")
    target = rest.partition("/")[0].removesuffix(".rs") if one and (rest.count("/") == 0 or stem == "main") else ""  # fmt: skip
    if folder == "fuzz_targets" and one:
        return f"cargo fuzz run {stem}"
    if folder == "benches":
        return f"cargo bench --bench {target}" if target else "cargo bench"
    return f"cargo test --test {target}" if folder == "tests" and target else "cargo test"


def _with_node(inner: str, builds: BuildFiles, within: str) -> str:
    runner = next((command for start, command in _NODE_RUNNERS if builds.begins(start, within)), "")
    if inner == ".":
        return runner or "npm test"
    return f"{runner} {inner}" if runner else f"npm test -- {inner}"


def _on_the_jvm(
    extension: str, example: str, stem: str, module: str, builds: BuildFiles, within: str, *, one: bool
) -> str:
    """Of the one module: a choice of tests fails the build of each module which has none of them."""
    if extension == "scala" and builds.has("build.sbt", folder=within):
        return f"sbt 'testOnly *{stem}'" if one else "sbt test"
    sources = f"/{example}".rpartition("/src/")[2].partition("/")[0] if "/src/" in f"/{example}" else ""
    if sources == "main":
        return ""  # tests that other modules inherit
    if builds.has(*_GRADLE, folder=within):
        gradle = "./gradlew" if builds.has("gradlew", folder=within) else "gradle"
        where = f" -p {module}" if module else ""
        task = "jvmTest" if sources == "commonTest" else sources if sources.endswith("Test") else "test"
        return f"{gradle}{where} {task} --tests '*{stem}'" if one else f"{gradle}{where} {task}"
    if builds.has("pom.xml", folder=within):
        maven = "./mvnw" if builds.has("mvnw", folder=within) else "mvn"
        where = f" -pl {module} -am" if module else ""
        if not one:
            return f"{maven} test{where}"
        phase, choice, plugin = ("verify", "it.test", "failsafe") if stem.endswith("IT") else ("test", "test", "surefire")  # fmt: skip
        lenient = f" -D{plugin}.failIfNoSpecifiedTests=false" if module else ""
        return f"{maven} {phase}{where} -D{choice}={stem}{lenient}"
    if builds.has("build.sbt", folder=within):
        return f"sbt 'testOnly *{stem}'" if one else "sbt test"
    return ""
