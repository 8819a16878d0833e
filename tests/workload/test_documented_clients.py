"""Claims about the page on HTTP clients: its examples can be opened as they stand, and etcd's drives etcd."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import sysconfig
import time
from pathlib import Path

import pytest
import yaml

from refute.history import Outcome
from refute.plan.system_spec import Client
from refute.workload.client import open_client
from refute.workload.request import Request

PAGE = (Path(__file__).parents[2] / "docs" / "http-client.md").read_text()
EXAMPLES = {
    name: described
    for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    for name, described in yaml.safe_load(block)["clients"].items()
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_can_be_opened_as_they_stand(name):
    endpoints = {"n1": {"client": ("127.0.0.1", 1)}}
    with open_client(Client.model_validate(EXAMPLES[name]), endpoints) as client:
        completion = client.invoke(Request("read", "k"), "n1", 1.0)
    assert completion.outcome is Outcome.FAIL and completion.not_reached


@pytest.mark.systems
def test_the_example_for_etcd_drives_etcd(tmp_path):
    etcd = shutil.which("etcd", path=sysconfig.get_path("scripts")) or shutil.which("etcd")
    if etcd is None:
        pytest.skip("etcd is not installed")
    ports = []
    for _ in range(2):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            ports.append(probe.getsockname()[1])
    here, peer = (f"http://127.0.0.1:{port}" for port in ports)
    command = [etcd, "--name", "n1", "--data-dir", str(tmp_path / "data"), "--listen-client-urls", here]
    command += ["--advertise-client-urls", here, "--listen-peer-urls", peer]
    command += ["--initial-advertise-peer-urls", peer, "--initial-cluster", f"n1={peer}"]
    with (tmp_path / "log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        endpoints = {"n1": {"client": ("127.0.0.1", ports[0])}}
        with open_client(Client.model_validate(EXAMPLES["gateway"]), endpoints) as client:
            deadline = time.monotonic() + 20
            while client.invoke(Request("write", "k", 0), "n1", 2.0).outcome is not Outcome.OK:
                assert time.monotonic() < deadline, (tmp_path / "log").read_text()[-2000:]
                time.sleep(0.1)

            def ask(kind, value=None, key="k"):
                completion = client.invoke(Request(kind, key, value), "n1", 2.0)
                return completion.outcome, completion.output

            assert ask("read", key="none") == (Outcome.OK, None)
            assert ask("write", 5) == (Outcome.OK, None)
            assert ask("read") == (Outcome.OK, 5)
            assert ask("cas", [4, 6])[0] is Outcome.FAIL
            assert ask("cas", [5, "sechs"])[0] is Outcome.OK
            assert ask("read") == (Outcome.OK, "sechs")
    finally:
        server.terminate()
        server.wait(10)
