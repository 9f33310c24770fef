"""The index for programs in Python: the daemon that keeps a folder, else the same service in this process.

Owns: the names of the methods, which index a folder means.
Knows nothing of: how anything is answered.
Invariants: 1. results are those of the socket, field by field. 2. nothing is printed.
Purity: shell (through what it calls).
See: docs/python.md, docs/protocol.md.
"""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

from indexerd.analysis import known_language
from indexerd.cli.place import Place, Selection, here
from indexerd.cli.reaching import Backend, find_daemon, holder_of, local_config, naming_holder, root_paths
from indexerd.cli.syncing import plan_sync, require_roots
from indexerd.client import Client
from indexerd.config import Config, absolute, holds
from indexerd.errors import RequestError, StoreLockedError, UnreachableError
from indexerd.grounding.reporting import judged_pair

Result = dict[str, object]


class Index:
    """An index that answers. Use it as a context.

    Every method takes the parameters of the socket's method of its name and returns its result (docs/protocol.md), and
    raises the exceptions of `indexerd.errors`.
    """

    def __init__(self, backend: Backend) -> None:
        """Ask this backend; `open_index` finds one."""
        self._backend = backend

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connection, or of the state directory."""
        self._backend.close()

    def call(self, method: str, params: Mapping[str, object] | None = None) -> Result:
        """Call any method of the socket."""
        return self._backend.call(method, params)

    def query(self, text: str, **params: object) -> Result:
        """Search: `hits`, each proved and cited."""
        return self.call("query", {"text": text, **params})

    def evidence(self, text: str, **params: object) -> Result:
        """Return evidence for a model: `evidence` with `prompt` and `blocks`; None of it where `abstained`."""
        return self.call("evidence", {"text": text, **params})

    def check(self, answer: str | Mapping[str, object], evidence: Mapping[str, object], **params: object) -> Result:
        """Hold an answer to the evidence reply that it was given."""
        return self.call("check", {"answer": answer, "evidence": evidence, **params})

    def verify(self, citation: str, **params: object) -> Result:
        """Say whether a full citation still holds."""
        return self.call("verify", {"citation": citation, **params})

    def show(self, citation: str, **params: object) -> Result:
        """Return the present text of a citation or source path."""
        return self.call("show", {"citation": citation, **params})

    def sync(self, *paths: str) -> Result:
        """Publish what changed, everywhere or at these paths."""
        return self.call("sync", {"paths": list(paths)} if paths else {})

    def status(self) -> Result:
        """Return the state of the index."""
        return self.call("status")


def open_index(root: str | None = None, *, profile: str = "", socket: str = "", state_dir: str = "") -> Index:
    """Return the index of a folder: of the daemon that keeps it, else of this process, brought up to date.

    Args:
        root: A folder; where no index knows it, one is made. None for the one that is meant in the current directory,
            as on the command line.
        profile: The watch set's name.
        socket: The daemon's socket; then nothing is done in this process.
        state_dir: The state directory.

    Raises:
        UnreachableError: No daemon and no index is meant.
        StoreLockedError: Another process is at work on this index: try again.
        RequestError: `root` is no folder.
        ConfigError: The settings are wrong.
    """
    place, selection = here(), Selection(socket, profile, state_dir)
    path = None if root is None else absolute(root, place.cwd)
    client = _daemon_of(path, selection, place)
    if client is not None:
        return Index(client)
    from indexerd.cli.local import open_fresh  # noqa: PLC0415 - numpy only where work is done here

    config = _config(path, selection, place)
    require_roots(config)
    with naming_holder(config):
        try:
            backend, _ = open_fresh(config)
        except StoreLockedError:
            if (daemon := holder_of(config.state_dir)) is None:
                raise
            # It came while this process looked for one.
            return Index(daemon)
    return Index(backend)


def _daemon_of(path: str | None, selection: Selection, place: Place) -> Client | None:
    """Return the daemon that is meant, and has a root that holds the folder."""
    try:
        client = find_daemon(selection, place if path is None else place._replace(cwd=path))
    except UnreachableError:
        # Several run, and none of them is this folder's.
        if path is None or selection.socket or selection.profile:
            raise
        return None
    if client is None or path is None or any(holds(root, path) for root in root_paths(client.call("status"))):
        return client
    client.close()
    if selection.socket or selection.profile:
        raise UnreachableError(f"{path}: lies in no root of that daemon")
    return None


def _config(path: str | None, selection: Selection, place: Place) -> Config:
    if path is None:
        return local_config(selection, place)
    return plan_sync(selection, place, (path,), (path,), {})[0]


def check(claim: str, passages: Sequence[str], *, language: str = "english") -> Result:
    """Hold a claim to passages, without any index.

    Returns:
        `band`, `score`, `reasons`, `span`, `spans`, as docs/grounding.md says.

    Raises:
        RequestError: There is no such language, and the message lists those there are; or the claim is no text, or the
            passages are no list of texts.
    """
    own = passages if isinstance(passages, str) else list(passages)
    found = judged_pair({"claim": claim, "passages": own}, known_language(language))
    if "error" in found:
        raise RequestError(str(found["error"]))
    return found
