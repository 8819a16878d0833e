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
    "php": ("phpunit.xml.dist", "phpunit.xml", "composer.json"), "zig": ("build.zig",), "cs": (".csproj",),
}  # fmt: skip

_ON_THE_JVM = frozenset({"java", "kt", "groovy"})
_GRADLE = ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts")
_JVM_BUILDS = (*_GRADLE, "pom.xml", "build.sbt")


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
    if extension in _ON_THE_JVM and not builds.has(*_JVM_BUILDS):
        manifests = _JVM_BUILDS  # of a part alone, where the root has none
    package = builds.package_of(example, *manifests)
    within = package if package and place.startswith(f"{package}/") else ""
    inner = posixpath.relpath(place, within) if within else place
    stem = place.rsplit("/", 1)[-1].rsplit(".", 1)[0]
    command = _command(
        extension, inner, stem, one=one, known=package is not None, builds=builds, within=within
    )
    return command, within or "."


def _command(
    extension: str, inner: str, stem: str, *, one: bool, known: bool, builds: BuildFiles, within: str
) -> str:
    if extension in _ON_THE_JVM:
        return _on_the_jvm(stem, builds, within, one=one)
    if extension == "rb":
        if stem.endswith("_spec") or (not one and builds.has(".rspec", folder=within)):
            return f"bundle exec rspec {inner}"
        return (f"bundle exec ruby -Itest {inner}" if stem.endswith("_test") or stem.startswith("test_") else "") if one else "bundle exec rake test"  # fmt: skip
    if extension in ("ex", "exs"):
        runs = known and (stem.endswith("_test") if one else True)
        return ("mix test" if inner == "test" else f"mix test {inner}") if runs else ""
    if extension == "php":
        runner = "pest" if builds.has("pest.php", folder=f"{within}/tests".strip("/")) else "phpunit"
        return f"vendor/bin/{runner} {inner}" if known else ""
    if extension == "cs":
        return f"dotnet test --filter FullyQualifiedName~{stem}" if one else "dotnet test"
    if extension == "swift":
        return (f"swift test --filter {stem}" if one else "swift test") if known else ""
    if extension == "zig":
        return "zig build test" if known else ""
    if extension == "go":
        folder = inner.rpartition("/")[0] if one else f"{inner}/..."
        return f"go test ./{folder}"
    return {
        "py": f"pytest {inner}", "rs": "cargo test", "ts": f"npx jest {inner}", "js": f"npm test -- {inner}",
        "scala": f"sbt 'testOnly *{stem}'" if one else "sbt test",
        "erl": f"make ct-{stem.removesuffix('_SUITE')}" if one else "make ct", "tcl": "./runtest", "clj": "lein test",
    }.get(extension, "")  # fmt: skip


def _on_the_jvm(stem: str, builds: BuildFiles, within: str, *, one: bool) -> str:
    if builds.has(*_GRADLE, folder=within):
        gradle = "./gradlew" if builds.has("gradlew", folder=within) else "gradle"
        return f"{gradle} test --tests '*{stem}'" if one else f"{gradle} test"
    if builds.has("pom.xml", folder=within):
        maven = "./mvnw" if builds.has("mvnw", folder=within) else "mvn"
        return f"{maven} test -Dtest={stem}" if one else f"{maven} test"
    if builds.has("build.sbt", folder=within):
        return f"sbt 'testOnly *{stem}'" if one else "sbt test"
    return ""
