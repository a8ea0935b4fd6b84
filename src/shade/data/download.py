"""Download files: to a temporary file, with retries and checks, then moved into place in one step."""

from __future__ import annotations

import hashlib
import http.client
import logging
import shutil
import time
import urllib.error
import urllib.request
from io import BufferedRandom
from pathlib import Path

from shade._base.errors import ShadeError
from shade._base.files import written_aside

logger = logging.getLogger(__name__)

BLOCK = 1 << 20
TIMEOUT = 60.0
_WORTH_TRYING_AGAIN = (408, 425, 429, 500, 502, 503, 504)


class DownloadError(ShadeError, OSError):
    """A file could not be fetched, or is not the expected one."""


def download_file(url: str, path: Path, *, sha256: str = "", attempts: int = 4, pause: float = 2.0) -> None:
    """Fetch a file. Whatever happens, `path` has either the whole file or nothing.

    An empty sha256 is not checked. If the hash is wrong, the file is fetched again. The pause, in seconds, doubles with
    each attempt.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    for attempt in range(1, attempts + 1):
        try:
            with written_aside(path) as file:
                _fetch(url, file, sha256)
            return
        except (OSError, http.client.HTTPException) as error:
            passing = not isinstance(error, urllib.error.HTTPError) or error.code in _WORTH_TRYING_AGAIN
            if attempt == attempts or not passing:
                raise DownloadError(f"Fetching {url} failed (attempt {attempt} of {attempts}): {error}") from error
            logger.warning("fetching %s failed (%s); trying again", url, error)
            time.sleep(pause * 2.0 ** (attempt - 1))


def _fetch(url: str, file: BufferedRandom, sha256: str) -> None:
    """Store a response. Raise an error if it is shorter than announced, or if its checksum is wrong."""
    request = urllib.request.Request(url, headers={"User-Agent": "shade-clustering"})
    with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
        shutil.copyfileobj(response, file, BLOCK)
        announced, received = response.headers.get("Content-Length"), file.tell()
        if announced is not None and received != int(announced):
            raise DownloadError(f"{url} stopped after {received} of {announced} bytes.")
        file.seek(0)
        if sha256 and (found := hashlib.file_digest(file, "sha256").hexdigest()) != sha256:
            raise DownloadError(f"{url} has sha256 {found}, but {sha256} was expected.")
