"""What a line of code is taken to show, and what only looks like it."""

from __future__ import annotations

import pytest

from refute.repository.marks import find_marks


def kinds(*lines: str) -> set[str]:
    return {kind for kind, _, _ in find_marks(lines)}


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("Route::get('/jobs/{id}', 'JobController@show');", "rest"),
        ('  get "/jobs/:id", JobController, :show', "rest"),
        ("  resources :jobs do", "rest"),
        ("openapi: 3.0.0", "rest"),
        ('"swagger": "2.0",', "rest"),
        ("val routes = HttpRoutes.of[IO] {", "rest"),
        ("const { program } = require('commander');", "cli"),
        ("  use Mix.Task", "cli"),
        ("object Main extends App {", "cli"),
        ("protected $signature = 'queue:work';", "cli"),
        ("write to the MANIFEST of this database", "disk format"),
        ("  let n = manifest_file.read_to_end(&mut buffer)?;", "disk format"),
        ("binary.LittleEndian.PutUint32(buffer, length)", "wire format"),
        ("const client = new Redis(options);", "persistence"),
        ("  use Oban.Worker, queue: :events", "background"),
        ("class ProcessPodcast implements ShouldQueue", "background"),
    ],
)
def test_a_line_shows_what_a_program_does(line: str, kind: str) -> None:
    assert kind in kinds("", line)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("def manifest(event: E): String", "disk format"),
        ("let manifest = try system.serialization.outboundManifest(String.self)", "disk format"),
        ("private let allocate: ByteBufferAllocator", "wire format"),
        ("commander: ActorRef,", "cli"),
        ('val nettyVersion = "4.2.0"', "rpc"),
        ("pool_size: System.schedulers_online() * 2,", "background"),
        ('  target get "/home" from the user', "rest"),
        ("  get { return self.total }", "rest"),
        (" * See the License for the specific language governing permissions and", "auth"),
        ("See the License for the specific language governing permissions and", "auth"),
        ("public func open(_ permissions: FilePermissions)", "auth"),
        ('public static final String TYPE = "createServerGroup"', "listener"),
        ('return "<NO RESPONSE>";', "wire format"),
        ("sqe!.pointee.len |= IORING_POLL_ADD_MULTI", "isolation"),
        ("pub cron_schedule: Option<String>,", "background"),
        ('Response listTask(@Path("id") String id);', "rest"),  # what a client asks for
        ("use GenServer", "rpc"),
        ("} // namespace leveldb", "persistence"),
        ("// the shared portions of the code must be replicated", "replication"),
        ("checksum/config: {{ . | sha256sum }}", "disk format"),
    ],
)
def test_a_word_of_another_meaning_shows_nothing(line: str, kind: str) -> None:
    assert kind not in kinds("", line)


def test_a_line_that_names_a_package_stands_only_where_no_other_does() -> None:
    naming = ["import io.netty.bootstrap.ServerBootstrap;", "namespace Cluster.Scheduler;"]
    assert list(find_marks(naming)) == [("rpc", 1, naming[0]), ("background", 2, naming[1])]
    doing = "var bootstrap = new ServerBootstrap();"
    assert ("rpc", 4, doing) in list(find_marks([*naming, "", doing]))
    assert ("rpc", 1, naming[0]) not in list(find_marks([*naming, "", doing]))


def test_a_line_with_two_signs_of_a_kind_is_told_once_and_a_form_of_kubernetes_shows_nothing() -> None:
    lines = ["fsync(a); fsync(b);", "fsync(c);"]
    assert [(kind, line) for kind, line, _ in find_marks(lines)] == [("persistence", 1), ("persistence", 2)]
    form = ["apiVersion: v1", "kind: CustomResourceDefinition", "description: the gossip of a quorum"]
    assert not list(find_marks(form))
    assert [kind for kind, _, _ in find_marks(form[2:])] == ["replication"]
