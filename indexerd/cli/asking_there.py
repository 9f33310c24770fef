"""Who answers a query: the daemon that is meant, else this process after it has brought the index up to date.

Owns: the decision between both, what standard error hears of it, and asking on until a long result is whole.
Knows nothing of: what is asked.
Invariants: 1. local work is always told on standard error. 2. with `--no-local` or a named socket there is none.
    3. all hits of a joined result are of one generation.
Purity: shell (through what it calls).
See: docs/operations.md.
"""

import posixpath
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

from indexerd.cli.place import Place, Selection
from indexerd.cli.printing import count, escape, write
from indexerd.cli.reaching import (
    Backend,
    Result,
    find_daemon,
    holder_of,
    local_config,
    naming_holder,
    reach_daemon,
)
from indexerd.config import Config, holds
from indexerd.errors import BusyError, RequestError, StoreLockedError
from indexerd.naming import encode_name

# A corpus that changes under every page is read again from the start so often, then given up.
_ATTEMPTS = 5
Need = Literal["daemon", "fresh", "store", "read", "sources"]


@contextmanager
def asking_backend(selection: Selection, place: Place, need: Need = "fresh") -> Iterator[Backend]:
    """Give somebody who answers, and let go of it afterwards.

    The need is with what this process may begin to answer where no daemon runs: bringing the index up to date, taking
    the store, reading it as it is, nothing but knowing the roots; `daemon` where it may not.

    Raises:
        UnreachableError: No daemon runs and local work is not allowed or has nothing to work on.
        ConfigError: Local work needs settings, and they are wrong.
    """
    is_local = need != "daemon" and not selection.socket
    backend: Backend | None = find_daemon(selection, place) if is_local else reach_daemon(selection, place)
    if backend is None:
        config = local_config(selection, place)
        # A name made from the roots would be news to who has named the directory.
        what = f"the state directory {config.state_dir}" if selection.state_dir else f"profile {config.profile}"
        backend = _local(config, need, what)
    try:
        yield backend
    finally:
        backend.close()


def _local(config: Config, need: Need, watch_set: str) -> Backend:
    from indexerd.cli import local  # noqa: PLC0415 - numpy only where work is done here
    from indexerd.wiring.reading import open_sources  # noqa: PLC0415 - as above

    if not config.roots and need in {"fresh", "store"}:
        local.refuse_without_roots(config)
    without_sync = {"read": local.open_as_it_is, "store": local.open_store, "sources": open_sources}
    if need != "fresh":
        with naming_holder(config):
            return without_sync[need](config)
    try:
        backend, report = local.open_fresh(config)
    except StoreLockedError:
        if (daemon := holder_of(config.state_dir)) is not None:
            # It came while this process looked for one.
            return daemon
        # Somebody else brings it up to date just now: what is published is proved against the disk all the same.
        write(2, b"indexerd: another process is at work on this index: answering from its last generation\n")
        return local.open_as_it_is(config)
    changes = "".join(
        f", {count(report[f'documents_{what}'], 'document')} {what}"
        for what in ("added", "updated", "deleted")
        if report.get(f"documents_{what}")
    )
    what = f"answering from here (generation {report['generation']}{changes})"
    write(2, f"indexerd: no daemon runs for {escape(watch_set)}: {what}\n")
    return backend


def here_globs(status: Result, cwd: str) -> list[str]:
    """Return the globs for everything below the current directory.

    Raises:
        RequestError: No root of this index holds it.
    """
    name = name_below(status, cwd)
    if name is None:
        raise RequestError("--here: the current directory lies in no root of this index")
    return [f"{_literal(name)}/**" if name else "**"]


def name_below(status: Result, path: str) -> str | None:
    """Return the source path of an absolute path, empty for a root without a label; None if no root holds it."""
    roots = status.get("roots") or []
    for root in roots:
        if holds(root["path"], path):
            is_prefixed = bool(root.get("prefixed", len(roots) > 1))
            below = posixpath.relpath(path, root["path"])
            parts = ([root["label"]] if is_prefixed else []) + ([] if below == "." else [below])
            return encode_name("/".join(parts).encode("utf-8", "surrogateescape"))
    return None


def _literal(name: str) -> str:
    return "".join(f"[{char}]" if char in "*?[" else char for char in name)


def call_whole(backend: Backend, method: str, params: Mapping[str, object]) -> Result:
    """Return the result of `query` with all its hits.

    Raises:
        BusyError: The index changed during every attempt; ask for fewer hits.
    """
    for _ in range(_ATTEMPTS):
        result = backend.call(method, params)
        hits = result["hits"]
        while result.get("truncated"):
            page = backend.call(method, {**params, "after": len(hits)})
            if page["generation"] != result["generation"]:
                break
            hits += page["hits"]
            result["truncated"] = bool(page.get("truncated") and page["hits"])
        else:
            result.pop("truncated", None)
            return result
    raise BusyError("the index changed while a long result was read: ask again, or for fewer hits (-n)")


def all_documents(backend: Backend, params: Mapping[str, object] | None = None) -> Iterator[Result]:
    """Give every document of `documents`, page after page."""
    after: dict[str, object] = {}
    while True:
        page = backend.call("documents", {**(params or {}), **after})
        yield from page["documents"]
        if not page.get("next"):
            return
        after = {"after": page["next"]}
