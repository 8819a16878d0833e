"""Tells whether a changed build file, CI job, script or deployment changes what is built or how it is started."""

# ruff: noqa: E501  (a table of patterns is read by its rows)

from __future__ import annotations

import re
from typing import Literal

from refute.repository.differences import Change
from refute.repository.file_kinds import GRAMMARS, language_of, role_of
from refute.repository.harnesses import spoken

Shipping = Literal["", "changed", "unknown"]

# folders whose images, scripts and settings nobody runs in production
_APART = re.compile(
    r"(^|/)(tests?|[\w-]+[-_]tests?|testing|testdata|e2e|examples?|samples?|demos?|docs?|website|site|bench\w*|perf|jmh|\.?devcontainer|dev|local\w*|"
    r"mocks?|fuzz\w*|chaos|jepsen|antithesis|hack|playground|tla\+?|p|lint\w*)/|(^|/)[^/]*(test|bench|fuzz|dev|lint|ci)[^/]*\.?dockerfile|dockerfile[-._]\w*(test|bench|fuzz|dev|lint|ci)\b", re.I)  # fmt: skip
_DEPLOYED = re.compile(
    r"(^|/)(helm|charts?|k8s|kubernetes|kustomize|deploy\w*|packaging|pkg/(?:rpm|deb)|debian|rpm|systemd|terraform|ansible|nomad|rootfs|migrations?)/|"
    r"\.(service|spec|tf|tfvars|nomad|sql)$|(^|/)(procfile|[\w.-]*values[^/]*\.ya?ml|[\w.-]*entry-?point[^/]*|jvm\.options|vm\.args[^/]*|\.env(?:\.prod\w*)?)$|"
    r"(^|/)(dockerfile|containerfile)[^/]*$|\.(dockerfile|containerfile)$|(^|/)docker/(?!.*(?:compose|\.md$))", re.I)  # fmt: skip
_TOOLCHAIN = re.compile(
    r"(^|/)(\.tool-versions|\.sdkmanrc|\.(go|ruby|java|python|node|bazel|swift|zig|scala)-?version|\.nvmrc|\.bazelrc|rust-toolchain(\.toml)?|\.cargo/config(\.toml)?|"
    r"global\.json|\.mvn/jvm\.config|\.jvmopts|\.sbtopts|project/build\.properties)$", re.I)  # fmt: skip
# what is left out of an image or a package, and what is compiled to what
_PACKED_BY = re.compile(r"(^|/)(\.(docker|npm|helm|gcloud|slug|cf|vercel|eb)ignore|\.npmrc|\.yarnrc(\.yml)?|\.mvn/(maven\.config|extensions\.xml)|MANIFEST\.in)$")  # fmt: skip
_COMPILED_BY = re.compile(r"(^|/)\.(babelrc(\.\w+)?|swcrc|browserslistrc)$")
_PROGRAMS_OF_BUILDS = frozenset({"make", "just", "cmake", "starlark", "groovy"})
_BUILT_BY = re.compile(
    r"\.(gradle|gradle\.kts|sbt|am|ac|m4|bzl|mk|props|targets|nix|cmake)$|(^|/)(configure|meson\.build|build\.zig|build\.rs|gulpfile\.\w+|rakefile|magefile\.go|sconstruct|wscript|gradle\.properties|project/[^/]+\.scala)$", re.I)  # fmt: skip
_MANIFEST = re.compile(
    r"(^|/)(cargo\.toml|package\.json|pom\.xml|pyproject\.toml|setup\.(py|cfg)|mix\.exs|package\.swift|composer\.json|[^/]+\.(?:gemspec|csproj|fsproj)|rebar\.config|project\.clj|tsconfig[^/]*\.json|\.?babel[^/]*)$", re.I)  # fmt: skip
# what a compiler, a linker, a virtual machine or a package is told
_EFFECT = re.compile(
    r"(?<![\w-])-(?:O[0-3sz]\b|D[A-Z_]{2}\w+|Wl,|f(?:no-)?[a-z]{3}|march\b|mtune\b|X(?:m[xsn]|ss|X:)|tags\b|ldflags\b|gcflags\b|trimpath\b)|"
    r"\b(?:C(?:XX|PP)?FLAGS|LDFLAGS|RUSTFLAGS|GOFLAGS|CGO_ENABLED|GOEXPERIMENT|GOGC|GOMEMLIMIT|\w*(?:JAVA|JVM|HEAP|ERL)_\w*(?:OPTS|ARGS|FLAGS)|jvmArgs|javaOptions|jvmTarget|jvmToolchain|"
    r"(?:target|source)Compatibility|options\.release|maven\.compiler\.\w+|scalacOptions|javacOptions|kotlinOptions|compilerOptions|opt-level|lto|codegen-units|debug-assertions|overflow-checks|"
    r"default-features|rust-version|copts|linkopts|add_(?:compile|link)_\w+|target_(?:compile|link)_\w+|add_definitions|CMAKE_\w*(?:FLAGS|BUILD_TYPE|STANDARD)\w*|ext_modules|package_data|entry_points|"
    r"(?:Package|Project)Reference|implementation|runtimeOnly|compileOnly|add(?:_runtime)?_dependency|artifactId|exclusions?|ulimit|nofile|Release(?:Fast|Safe|Small)|unsafeFlags|swiftSettings|cSettings|ServerGarbageCollection|TieredPGO|TargetFrameworks?|DefineConstants|elixirc_options|erlc_options|erl_opts|releases)\b|\.(?:library|target|executable\w*|systemLibrary|binaryTarget)\(|"
    r"^\s*(?:panic|edition|features|strip|default|engines)\s*=|^\s*\[(?:profile|features|target|project\.scripts)|\"(?:main|exports|bin|engines|files|target)\"\s*:", re.M)  # fmt: skip
_ABOUT_TESTS = re.compile(
    r"(?<!la)(?<!at)test|check|lint|fmt|format|bench|(?<!re)(?<!dis)cover|\bdocs?\b|clean\b(?!.*\b(?:package|install|build|assemble)\b)|help|phony|^\s*@?echo\s[^>|]*$|mock|jacoco|style|spot(?:less|bugs)|licen[cs]e|changelog|fixture|example|sonar|analy[sz]|\bdeny\b|audit|prettier|clippy|\bvet\b|"
    r"mima|dokka|javadoc|scaladoc|description|authors|keywords|homepage|^[\s{}()\[\],;\\]*$|^\s*(?:#|//|--|/?\*|<!--)|^\s*[\w.\"'@]*version\b", re.I)  # fmt: skip
_NAMED_FOR_TESTS = re.compile(r"\b(?:tests?|testing|lint|bench\w*|docs?|style|format|check\w*|coverage)\b")
_RELEASES = re.compile(r"release|publish|deploy|docker|image|packag|wheel|artifact|binar|install|start|entry-?point|migrat|(?<![a-z])dist(?![a-z])|(?<![a-z])cd(?![a-z])", re.I)  # fmt: skip
_BUILDS = re.compile(r"build|compile|generate|codegen|(?<![a-z])gen(?![a-z])|bootstrap", re.I)
_MAKES_RELEASES = re.compile(
    r"docker/(?:setup|build|login|metadata)|docker (?:buildx|build|push)|\b(?:dotnet|npm|nuget|gem|mvn|cargo|twine|helm|hex\.publish)\s+(?:\w+\s+)?(?:pack|push|publish|deploy|upload)\b|publish|release|deploy",
    re.I,
)
_PINS = re.compile(r"\b(?:image|container)\s*:|\b(?:go|java|python|node|ruby|php|elixir|otp|dotnet|rust|scala|zig|swift|jdk)[-_]version\b|toolchain\s*[:=]", re.I)  # fmt: skip
_READ_AT_RUN_TIME = re.compile(r"(^|/)(resources|conf|etc|priv)/(?!.*(?:readme|licen[cs]e|notice))[^/]+(/[^/]+)*\.txt$", re.I)  # fmt: skip


def shipping_of(change: Change) -> Shipping:
    """Whether what is built, packed, deployed or started can differ: `changed`, `unknown`, or empty: it cannot.

    Product code is no matter of this: whatever is empty here may still be that.
    """
    path, name = change.path, change.path.rsplit("/", 1)[-1]
    role = role_of(path)
    if role in ("test", "vendored", "licence", "news", "translation") or _APART.search(path):
        return ""
    lines = [text for _, text in (*change.added, *change.removed)]
    telling = [text for text in lines if not _ABOUT_TESTS.search(text)]
    if _READ_AT_RUN_TIME.search(path) or _TOOLCHAIN.search(path) or _COMPILED_BY.search(path):
        return "changed"
    if _PACKED_BY.search(path):
        return "unknown"
    if role in ("document", "reference", "entry", "example"):
        return ""
    if role == "ci" or "/." in f"/{path}":
        return "unknown" if _may_release(name, lines, telling) else ""
    if _DEPLOYED.search(path):
        return "changed"
    by_hand = language_of(path) in _PROGRAMS_OF_BUILDS or bool(_BUILT_BY.search(path))
    if by_hand or _MANIFEST.search(path):
        if any(_EFFECT.search(text) for text in telling):
            return "changed"
        ran_by_hand = by_hand and not _NAMED_FOR_TESTS.search(spoken(name))
        return "unknown" if ran_by_hand and (telling or not lines) else ""
    if role in ("tooling", "data") and (language_of(path) in ("shell", "other", *GRAMMARS)):
        makes = (_RELEASES.search(name) or _BUILDS.search(name)) and not _ABOUT_TESTS.search(name)
        return "unknown" if makes and role == "tooling" and telling else ""
    return ""


def _may_release(name: str, lines: list[str], telling: list[str]) -> bool:
    """Whether a CI job may make what is shipped, or makes it of something else now."""
    if any(_PINS.search(text) for text in lines):
        return True
    return bool(telling) and (
        bool(_RELEASES.search(name))
        or any(_EFFECT.search(text) or _MAKES_RELEASES.search(text) for text in telling)
    )
