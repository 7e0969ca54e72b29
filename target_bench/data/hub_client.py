"""The Hugging Face hub as a pull sees it: lists files, fetches one, and says what went wrong."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from target_bench.core.errors import ConfigError, DataError, MissingExtraError, TargetBenchError

MAIN = "main"
"""The branch every repository has."""

_TIMEOUT = 60  # seconds that a listing may take


@dataclass(frozen=True, slots=True)
class Facts:
    """Size, SHA-256 and hash as a git blob of a file; None where they are not known."""

    size: int | None = None
    sha256: str | None = None
    git_sha1: str | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a repository: path -> who says what of it, as (source, facts)."""

    id: str
    revision: str
    commit: str
    files: dict[str, tuple[tuple[str, Facts], ...]]


def short(repository: str) -> str:
    """Return the name of a repository without its owner."""
    return repository.rpartition("/")[2]


class Hub:
    """A client of huggingface_hub for pulls; its errors become ours.

    Raises:
        MissingExtraError: it is not installed.
        ConfigError: ``HF_ENDPOINT`` is not an address.
    """

    def __init__(self) -> None:
        address = os.environ.get("HF_ENDPOINT", "https://huggingface.co")
        if not _is_address(address):  # the library fails on some when it is imported
            raise ConfigError(
                f"HF_ENDPOINT={_without_password(address)}: expected an address, as in https://..."
            )
        try:
            from huggingface_hub import HfApi, get_token, utils
        except ImportError as error:
            raise MissingExtraError("huggingface_hub", "hub", "target-bench data pull") from error
        self._utils: Any = utils
        self._token = get_token()
        self._api = HfApi()
        self.endpoint = _without_password(self._api.endpoint)

    def listing(self, repository: str, revision: str) -> Listing:
        """Return the files of a repository, with the hub's record of each."""
        with self._explained(repository, f"revision {revision!r}"):
            info = self._api.dataset_info(
                repository, revision=revision, files_metadata=True, timeout=_TIMEOUT
            )
            files: dict[str, tuple[tuple[str, Facts], ...]] = {
                each.rfilename: (("the hub", _said(each)),) for each in info.siblings or ()
            }
        if not info.sha or not files:
            raise DataError(f"{repository}, revision {revision!r}: the hub lists no files")
        for path in files:
            if {"..", ""} & set(re.split(r"[/\\]", path)):
                raise DataError(f"{repository}: the hub lists an invalid path: {path!r}")
        return Listing(repository, revision, info.sha, files)

    def download(self, listing: Listing, path: str, folder: Path, again: bool) -> Path:
        """Download a file at the commit of the listing; ``again`` trusts no cache.

        Raises:
            OSError: it cannot be written.
        """
        with self._explained(listing.id, f"commit {listing.commit}, file {path}"):
            got = self._api.hf_hub_download(
                listing.id,
                path,
                repo_type="dataset",
                revision=listing.commit,
                local_dir=folder,
                force_download=again,
            )
        return Path(got)

    @contextmanager
    def _explained(self, repository: str, what: str) -> Iterator[None]:
        http_error = self._utils.HfHubHTTPError.__bases__[0]  # of httpx or requests
        try:
            yield
        except (http_error, OSError, ValueError, KeyError, TypeError) as error:
            on_disk = isinstance(error, OSError) and error.errno is not None
            if on_disk and not isinstance(error, (ConnectionError, TimeoutError)):
                raise
            chain = list(_chain(error))
            refusal = self._refusal(chain, repository, what)
            raise refusal or self._breakdown(chain, f"{repository}, {what}") from error

    def _refusal(
        self, chain: list[BaseException], repository: str, what: str
    ) -> TargetBenchError | None:
        """Return the error for an answer of the hub that is not a file."""
        error = next((e for e in chain if isinstance(e, self._utils.HfHubHTTPError)), None)
        if error is None:
            return None
        page = f"{self.endpoint}/datasets/{repository}"
        status = error.response.status_code if error.response is not None else 0
        if isinstance(error, self._utils.GatedRepoError):
            return ConfigError(
                f"{repository} is gated. Ask for access at {page}, then log in with "
                "`hf auth login` or set HF_TOKEN."
            )
        if isinstance(error, self._utils.RevisionNotFoundError):
            return ConfigError(
                f"{repository} has no {what}. {page}/commits/{MAIN} lists what there is; a "
                f"commit of one repository is written --revision {short(repository)}=COMMIT"
            )
        if isinstance(error, self._utils.EntryNotFoundError):
            return DataError(f"{repository}, {what}: the hub lists this file, but does not have it")
        if isinstance(error, self._utils.RepositoryNotFoundError):
            return DataError(
                f"{repository}: {self.endpoint} has no such dataset, or it is private. If you may "
                "read it, log in with `hf auth login` or set HF_TOKEN."
            )
        if status in (401, 403):
            return ConfigError(
                f"{repository}: access was refused (status {status}). Check HF_TOKEN or "
                f"`hf auth whoami`, and whether you may read {page}."
            )
        return DataError(
            f"{repository}, {what}: {self.endpoint} answered with status {status}. Try again later."
        )

    def _breakdown(self, chain: list[BaseException], what: str) -> TargetBenchError:
        """Return the error for a missing or invalid answer of the hub."""
        if any(isinstance(error, self._utils.OfflineModeIsEnabled) for error in chain):
            return ConfigError("HF_HUB_OFFLINE is set, so nothing can be pulled. Unset it.")
        if any("Timeout" in type(error).__name__ for error in chain):
            return DataError(
                f"{what}: {self.endpoint} took too long to answer. Try again; "
                "HF_HUB_DOWNLOAD_TIMEOUT and HF_HUB_ETAG_TIMEOUT set how long to wait."
            )
        cause = chain[-1]
        return DataError(
            f"{what}: {self.endpoint} cannot be reached, or sends something wrong: "
            f"{type(cause).__name__}: {self._safe(str(cause))}. Check the network, proxies "
            "(HTTPS_PROXY) and HF_ENDPOINT, and try again."
        )

    def _safe(self, text: str) -> str:
        text = text.replace(self._token, "***") if self._token else text
        return _without_password(text)


def _without_password(text: str) -> str:
    """Return a text without the name and password that an address in it may carry."""
    return re.sub(r"//[^/\s]*@", "//***@", text)


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and what caused it."""
    while error is not None:
        yield error
        error = error.__cause__


def _said(sibling: Any) -> Facts:
    """Return the hub's record of a file.

    The git hash of one in the large-file store is that of its pointer.
    """
    if sibling.lfs:
        return Facts(sibling.lfs.size, sibling.lfs.sha256)
    return Facts(sibling.size, None, sibling.blob_id)
