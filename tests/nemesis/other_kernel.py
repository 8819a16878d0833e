"""A second kernel as a process of this machine: User-Mode Linux, which has netem and version 2 of control groups.

Debian's package user-mode-linux. It sees this machine's files, read only, and nothing else of it: its network,
its processes and its control groups are its own and gone with it.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

KERNEL = "linux.uml"
_MODULES = Path("/usr/lib/uml/modules")
_CHECKOUT = Path(__file__).parents[2]
_INIT = """#!/bin/sh
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t tmpfs run /run; mount -t tmpfs tmp /var/tmp
mount -t devtmpfs dev /dev; mkdir -p /dev/pts /dev/shm /sys/fs/cgroup /run/modules/lib /run/tmp /run/netns
mount -t devpts pts /dev/pts
mount -t cgroup2 groups /sys/fs/cgroup
echo "+cpu +io +memory +pids" > /sys/fs/cgroup/cgroup.subtree_control
ln -s {modules} /run/modules/lib/modules
printf '#!/bin/sh\\nexec modprobe -d /run/modules "$@"\\n' > /run/modprobe; chmod +x /run/modprobe
echo /run/modprobe > /proc/sys/kernel/modprobe
ip link set lo up
mkdir /run/answer; mount -t hostfs none /run/answer -o {folder}
export TMPDIR=/run/tmp HOME=/run REFUTE_STATE=/run/state
cd {checkout}
{command} > /run/answer/said 2>&1 < /dev/null
echo $? > /run/answer/code
{python} -c "import ctypes; ctypes.CDLL(None).reboot(0x4321fedc)"
"""


def run_on_other_kernel(command: Sequence[str], folder: Path, timeout_s: float) -> tuple[int, str]:
    """Exit code and output of a command that is run there as root, in this checkout."""
    assert shutil.which(KERNEL) and shutil.which("modprobe"), "install user-mode-linux and kmod"
    init = folder / "init"
    init.write_text(
        _INIT.format(
            modules=_MODULES,
            folder=folder,
            checkout=_CHECKOUT,
            command=shlex.join(command),
            python=sys.executable,
        )
    )
    init.chmod(0o755)
    words = [KERNEL, "mem=1G", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", f"init={init}"]
    kernel = subprocess.Popen(
        [*words, f"uml_dir={folder}", "con=null", "con0=fd:0,fd:1", "quiet"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        kernel.wait(timeout_s)
    finally:
        if kernel.poll() is None:
            os.killpg(kernel.pid, signal.SIGKILL)
            kernel.wait()
    said = folder / "said"
    code = folder / "code"
    return int(code.read_text()) if code.exists() else -1, said.read_text() if said.exists() else "no word"
