"""Programs that run no tests whatever they are given, and those that only start another."""

# ruff: noqa: E501  (a table of patterns is read by its rows)

from __future__ import annotations

import re
from collections.abc import Sequence

# what stands before a command and changes nothing of what it runs; the number of words that follow belong to it
_WRAPPERS = {
    "sudo": 0, "env": 0, "nohup": 0, "nice": 0, "command": 0, "xvfb-run": 0, "timeout": 1, "gtimeout": 1, "retry": 0, "unbuffer": 0, "stdbuf": 0, "catchsegv": 0,
    "npx": 0, "bunx": 0, "nyc": 0, "c8": 0, "cross-env": 0, "dotenv": 0, "busted": 0, "winpty": 0, "chronic": 0, "travis_retry": 0, "travis_wait": 0, "eval": 0, "script": 0, "valgrind": 0, "setarch": 0,
    "run_with_retries": 0, "ionice": 0, "taskset": 1, "tsc-watch": 0, "gotestsum": 0, "ibazel": 0,
}  # fmt: skip
_PAIRS = {("bundle", "exec"), ("poetry", "run"), ("uv", "run"), ("pipenv", "run"), ("pdm", "run"), ("hatch", "run"), ("rye", "run"), ("pnpm", "exec"), ("yarn", "exec"),
          ("npm", "exec"), ("mise", "exec"), ("asdf", "exec"), ("coverage", "run"), ("micromamba", "run"), ("conda", "run"), ("opam", "exec"), ("doppler", "run"), ("rustup", "run"), ("composer", "exec")}  # fmt: skip
# programs that run no tests of the repository, whatever they are given
_HARMLESS_PROGRAMS = """
    : . [ [[ test true false set export unset read echo printf cat tee head tail grep egrep sed awk cut sort uniq tr wc find xargs ls cp mv rm mkdir rmdir ln touch chmod chown pwd cd
    exit return break continue shift local declare readonly trap wait kill sleep date basename dirname realpath readlink which type hash source alias ulimit umask seq expr diff cmp mktemp install
    case esac in for fi done function select let df du free ps id whoami uname hostname env locale nproc lscpu getconf sysctl mount umount swapon dd truncate fallocate sync stat file md5sum sha256sum shasum
    git gh hub curl wget tar unzip zip gzip gunzip xz zstd 7z jq yq apt apt-get dpkg yum dnf apk brew port pacman choco scoop winget snap pip pip3 pipx conda gem nvm rbenv pyenv rustup corepack n asdf sdk
    docker-machine systemctl service ssh scp rsync ssh-keygen gpg openssl keytool aws gcloud az kubectl helm terraform vault codecov bash_codecov coveralls goveralls sonar-scanner gcov lcov gcovr genhtml kcov
    golangci-lint gofmt goimports gofumpt staticcheck govulncheck revive buf protoc shellcheck shfmt yamllint actionlint hadolint markdownlint mdl typos codespell black ruff flake8 isort mypy pylint pyright bandit
    eslint prettier tsc standard xo tslint rubocop standardrb brakeman yard rdoc clang-format clang-tidy cppcheck cmake meson ninja autoreconf autoconf automake libtoolize gcc g++ clang clang++ cc ld ldconfig
    javac jar java rustc rustfmt cargo-deny cargo-audit mdbook mkdocs sphinx-build hugo jekyll asciidoctor doxygen pre-commit reuse addlicense licensed dependabot semgrep trivy snyk cosign syft goreleaser ko
    lerna-publish semantic-release twine poetry-publish vcpkg conan iptables ip tc ethtool modprobe udevadm adduser useradd usermod groupadd su-exec redis-cli redis-server psql createdb createuser pg_ctl pg_isready mysql mysqladmin mongo mongod
    netstat ss nc lsof telnet ping dig nslookup cygpath setx powershell-null pkg-config ccache sccache gcloud-auth nix-env nix-channel cachix strace rimraf madge vitepress typedoc epmd shx ncc esbuild rollup webpack vite bsc cspell jsdoc rescript del-cli mkdirp pino-pretty
"""
_HARMLESS = frozenset(_HARMLESS_PROGRAMS.split())
_STARTERS = frozenset({"xargs", "find", "ssh"})  # harmless but for what they start
_HARMLESS_FIRST = {
    "npm": r"ci|i|install|publish|pack|audit|cache|config|set|version|link|login|root|prune|rebuild|dedupe|update|-v|--version|view",
    "yarn": r"install|add|config|cache|--.*|global|set|version|publish|link|why|dlx",
    "pnpm": r"install|i|add|config|publish|store|setup|--version|fetch", "bun": r"install|i|add|--version",
    "bundle": r"install|config|update|add|lock|--version|check", "composer": r"install|update|require|config|validate|dump-autoload|global|self-update|remove|create-project|--version|normalize|audit|show",
    "poetry": r"install|config|lock|build|publish|check|--version|add|self|env|export", "uv": r"sync|pip|venv|lock|build|publish|tool|python|export|--version", "pdm": r"install|sync|lock|build",
    "docker": r"login|push|pull|tag|images|image|ps|logs|version|info|buildx|build|network|volume|manifest|inspect|rm|rmi|stop|kill|system|save|load|cp|start",
    "docker-compose": r"up|down|pull|build|logs|ps|stop|rm|version|config|start", "lein": r"deps|jar|uberjar|install|deploy|check|with-profiles?|cljfmt|eastwood",
    "rebar3": r"compile|deps|dialyzer|xref|hex|edoc|fmt|lint|get-deps|update|as|escriptize|release|tar|tree|unlock|upgrade|hank", "hatch": r"build|version|env",
}  # fmt: skip


def is_harmless(words: Sequence[str]) -> bool:
    """Whether the command runs no tests of the repository."""
    name = words[0].rsplit("/", 1)[-1]
    asked = words[1] if len(words) > 1 else "install"
    return name in _HARMLESS or (
        name in _HARMLESS_FIRST and re.fullmatch(_HARMLESS_FIRST[name], asked) is not None
    )


def starts_another(words: Sequence[str]) -> bool:
    """Whether it is harmless but for a command among its words."""
    return words[0].rsplit("/", 1)[-1] in _STARTERS


def unwrapped(words: Sequence[str]) -> list[str]:
    """The command without what stands before it: `sudo`, `timeout 60`, `bundle exec`, `env X=1`."""
    rest = list(words)
    for _ in range(6):
        if len(rest) > 1 and (rest[0].rsplit("/", 1)[-1], rest[1]) in _PAIRS:
            rest = rest[3:] if rest[0] == "rustup" else rest[2:]
            if words[0] == "coverage":
                return ["python", *_without_options(rest)] if rest[:1] != ["-m"] else ["python", *rest]
        elif rest and rest[0].rsplit("/", 1)[-1] in _WRAPPERS:
            name = rest[0].rsplit("/", 1)[-1]
            if name == "gotestsum":
                return ["go", "test", *(rest[rest.index("--") + 1 :] if "--" in rest else ["./..."])]
            rest = _without_options(rest[1:])[_WRAPPERS[name] :]
        else:
            break
        rest = _without_options(rest)
    return rest


def _without_options(words: list[str]) -> list[str]:
    at = 0
    while at < len(words) and (words[at].startswith("-") or re.fullmatch(r"[A-Z_]\w*=.*", words[at])):
        at += 1
    return words[at:]
