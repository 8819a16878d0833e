"""The map names the parts of a repository, whatever it is made of, and where its programs begin."""

from __future__ import annotations

from pathlib import Path

from refute.repository.mirror import open_repository
from refute.repository.models import RepositoryMap
from refute.repository.repository_map import map_repository
from tests.repository.repositories import commit_files


def map_of(folder: Path, files: dict[str, str]) -> RepositoryMap:
    commit_files(folder, files)
    with open_repository(folder, cache=folder.parent / "cache") as snapshot:
        return map_repository(snapshot)


def test_a_repository_of_charts_has_its_charts_for_components(tmp_path: Path) -> None:
    found = map_of(
        tmp_path / "charts",
        {f"charts/{name}/values.yaml": "replicas: 3\n" for name in ("one", "two")} | {"README.md": "# Charts\n"},
    )  # fmt: skip
    assert {part.path for part in found.components} >= {"charts/one", "charts/two"}


def test_a_repository_of_documents_has_its_folders(tmp_path: Path) -> None:
    found = map_of(tmp_path / "documents", {"guide/a.md": "Text.\n", "rules/b.md": "Text.\n"})
    assert {part.path for part in found.components} == {"guide", "rules"}


def test_programs_begin_where_their_language_has_it(tmp_path: Path) -> None:
    found = map_of(
        tmp_path / "product",
        {
            "src/Shop/Program.cs": "class Program { static void Main() { } }\n",
            "src/main/java/a/ShopApplication.java": "class ShopApplication { }\n",
            "src/main/java/a/model/Application.java": "class Application { }\n",
            "lib/shop/application.ex": "defmodule Shop.Application do\nend\n",
            "lib/shop/worker/server.ex": "defmodule Shop.Worker.Server do\nend\n",
            "docs/src/plugins/index.js": "run();\n",
            ".idea/README.md": "Text.\n",
            "README.md": "Text.\n",
        },
    )
    begins = [item.path for item in found.items if item.kind == "entry point"]
    assert begins == [
        "lib/shop/application.ex", "src/Shop/Program.cs", "src/main/java/a/ShopApplication.java", "docs/src/plugins/index.js",
    ]  # fmt: skip
    assert "[clients] command line, libraries: lib/shop, src/Shop, src/main, docs/src" in found.diagram
    assert [place.path for place in found.entry_documents] == ["README.md"]
