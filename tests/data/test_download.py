"""Downloads from a server that fails in every way it can."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from shade.data.download import DownloadError, download_file

CONTENT = b"the whole file" * 1000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Server(ThreadingHTTPServer):
    """Answers a path like /503,truncated,ok with one of these after the other, and remembers how often it was asked."""

    asked = 0


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        behaviours = self.path.strip("/").split(",")
        how = behaviours[min(self.server.asked, len(behaviours) - 1)]
        self.server.asked += 1
        if how.isdigit():
            self.send_error(int(how))
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        self.wfile.write({"truncated": CONTENT[:100], "changed": CONTENT[::-1], "ok": CONTENT}[how])

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.02,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def address(server: Server, behaviour: str) -> str:
    return f"http://127.0.0.1:{server.server_port}/{behaviour}"


@pytest.mark.parametrize("behaviour", ["ok", "503,ok", "truncated,503,ok", "changed,ok"])
def test_a_file_arrives_whole_after_failures(server: Server, tmp_path: Path, behaviour: str) -> None:
    path = tmp_path / "new folder" / "file.bin"
    download_file(address(server, behaviour), path, sha256=SHA256, pause=0.0)
    assert path.read_bytes() == CONTENT
    assert server.asked == len(behaviour.split(","))
    assert [p.name for p in path.parent.iterdir()] == ["file.bin"]


@pytest.mark.parametrize(
    ("behaviour", "asked", "sentence"),
    [
        ("truncated", 3, "stopped after 100 of 14000 bytes"),
        ("changed", 3, f"but {SHA256} was expected"),
        ("503", 3, r"attempt 3 of 3.*503"),
        ("404", 1, "404"),
    ],
)
def test_what_does_not_arrive_leaves_nothing(
    server: Server, tmp_path: Path, behaviour: str, asked: int, sentence: str
) -> None:
    path = tmp_path / "file.bin"
    path.write_bytes(b"an older file")
    with pytest.raises(DownloadError, match=sentence):
        download_file(address(server, behaviour), path, sha256=SHA256, attempts=3, pause=0.0)
    assert server.asked == asked
    assert path.read_bytes() == b"an older file"
    assert [p.name for p in tmp_path.iterdir()] == ["file.bin"]


def test_without_a_checksum_the_length_is_checked_still(server: Server, tmp_path: Path) -> None:
    download_file(address(server, "truncated,changed"), tmp_path / "file.bin", pause=0.0)
    assert (tmp_path / "file.bin").read_bytes() == CONTENT[::-1]


def test_a_server_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=r"Fetching http://127\.0\.0\.1:9/x failed"):
        download_file("http://127.0.0.1:9/x", tmp_path / "file.bin", attempts=2, pause=0.0)
