"""An owner of faults for the guard's tests: starts, injects, says what there is, and waits to be ended."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from refute.nemesis.ledger import MARK
from refute.nemesis.nemesis import Nemesis
from refute.plan.step_notation import read_fault
from refute.system.cluster import Cluster
from tests.nemesis.peers import peer_spec


def main() -> None:
    root, options = Path(sys.argv[1]), json.loads(sys.argv[2])
    changes = {}
    if options.pop("linger", False):
        # Nodes that take their time to stop, so that a test can look at them while they are being healed.
        changes["command"] = ["sh", "-c", "trap '' TERM; \"$@\"; sleep 1", "lingering", *peer_spec().command]
    dies_slowly = options.pop("dies_slowly", False)
    also = options.pop("also", [])  # further faults, as (plane, kind, parameters, nodes)
    at_last = options.pop("at_last", None)  # another one, after everything was said
    options["wanted"] = frozenset((plane, kind) for plane, kind, _, _ in also)
    spec = peer_spec(3, commands=options.pop("commands", {}), spares=options.pop("spares", ()), **changes)
    cluster = Cluster(spec, root=root, plan_dir=root)
    with Nemesis(spec, cluster, run_dir=root, **options) as nemesis:
        nemesis.prepare()
        cluster.start()
        cluster.wait_ready()
        nemesis.apply(read_fault({"pause": "n1"}), ["n1"])
        nemesis.apply(read_fault({"partition": {"links": ["n2<->n3"]}}))
        for its_plane, kind, parameters, targets in also:
            nemesis.apply(read_fault({"fault": {"plane": its_plane, "kind": kind, **parameters}}), targets)
        host = nemesis._planes["proxy"]._host  # type: ignore[attr-defined]
        said = {
            "nodes": {name: [n.identity.pid, n.identity.started] for name, n in cluster.nodes.items()},
            "host": [host.identity.pid, host.identity.started],
            "control": str(host.control_path),
            "run": nemesis.environment[MARK],
        }
        print(json.dumps(said), flush=True)
        if at_last:
            its_plane, kind, parameters, targets = at_last
            nemesis.apply(read_fault({"fault": {"plane": its_plane, "kind": kind, **parameters}}), targets)
        if dies_slowly:  # the pipe is closed a moment before the process is gone
            time.sleep(0.2)
            assert nemesis._heartbeat is not None
            os.close(nemesis._heartbeat._descriptor)
            time.sleep(0.3)
            os._exit(9)
        time.sleep(600)


if __name__ == "__main__":
    main()
