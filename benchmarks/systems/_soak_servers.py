"""A server of one file that is started, limited, killed and ended; and who uses the machine meanwhile."""

from __future__ import annotations

import http.client
import os
import re
import resource
import subprocess
import sys
import time
from pathlib import Path

PROGRAM = "from rankhash.cli import main; main()"
TOKEN = "the-token-of-the-soak"
SECONDS_TO_START = 120


class ServerProcess:
    """``rankhash serve`` of one file, again and again; its log stands outside of the disk that becomes full."""

    def __init__(self, path: Path, log: Path) -> None:
        self.path, self.log = path, log
        self.port = 0
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def is_running(self) -> bool:
        """Whether the process lives."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> bool:
        """Start it and wait until it is ready; False if it ended before that."""
        command = [sys.executable, "-c", PROGRAM, "serve", str(self.path), "--port", "0", "--writable"]
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [*command, "--threads", "1"], stderr=log, env=os.environ | {"RANKHASH_TOKEN": TOKEN}
            )
        end = time.monotonic() + SECONDS_TO_START
        while self.is_running and time.monotonic() < end:
            found = re.search(r"http://127\.0\.0\.1:(\d+)", self.log.read_text(encoding="utf-8"))
            if found is not None and _is_ready(int(found[1])):
                self.port = int(found[1])
                return True
            time.sleep(0.05)
        self.kill()
        return False

    def kill(self) -> None:
        """SIGKILL, if it runs."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def end(self) -> int:
        """SIGTERM; the exit code."""
        assert self._process is not None
        self._process.terminate()
        return self._process.wait(60)

    def limit(self, n_bytes: int) -> None:
        """No file of the process may become larger."""
        if self.is_running and self._process is not None:
            _, hard = resource.prlimit(self._process.pid, resource.RLIMIT_FSIZE)
            resource.prlimit(self._process.pid, resource.RLIMIT_FSIZE, (n_bytes, hard))

    def megabytes(self) -> float:
        """Memory of its own, without mapped files, in 2²⁰ bytes."""
        assert self._process is not None
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii")
        return round(int(re.findall(r"RssAnon:\s+(\d+) kB", status)[0]) / 1024, 1)


class CpuUsage:
    """What other programs take of the machine's cores, from now on."""

    def __init__(self) -> None:
        self._began, self._all, self._own = time.monotonic(), _busy_seconds(), _own_seconds()

    def cores_of_others(self) -> float:
        """Cores on average; children must have ended, since the system counts a child's time when it ends."""
        others = _busy_seconds() - self._all - (_own_seconds() - self._own)
        return max(0.0, others) / (time.monotonic() - self._began)


def _busy_seconds() -> float:
    """Seconds of all cores that were neither idle nor waiting for a disk."""
    user, nice, system, _, _, irq, softirq = map(int, Path("/proc/stat").read_text(encoding="ascii").split()[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def _own_seconds() -> float:
    """Seconds of this process and of its children that have ended."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def _is_ready(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
