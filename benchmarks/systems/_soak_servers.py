"""A server of one file that is started, limited, killed and ended."""

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


def _is_ready(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
