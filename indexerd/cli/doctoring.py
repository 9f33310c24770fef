"""`doctor`: everything that weakens a promise here, and what to do about it.

Owns: which surroundings are examined: settings, folders, kernel limits, the store, what is not searchable.
Knows nothing of: repair; it only reads.
Invariants: 1. each finding says what, where and what now. 2. one examination that fails never hides the others.
Purity: shell (reads settings, folders, limits, the store; asks the daemon).
See: docs/operations.md (doctor).
"""

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import click

from indexerd import __version__
from indexerd.cli.asking_there import all_documents
from indexerd.cli.options import as_json, selecting, take_selection
from indexerd.cli.place import Place, Selection, here
from indexerd.cli.printing import escape, write, write_result
from indexerd.cli.reaching import Backend, Result, find_daemon, local_config, owner_status, root_paths
from indexerd.cli.sockets import present_sockets
from indexerd.client import Client
from indexerd.config import Config
from indexerd.errors import BusyError, ConfigError, IndexerdError, NotFoundError, UnreachableError

# Of each limit of inotify the least that will do, what it is for, and what to do. With fewer watches a folder of notes
# with a few projects beside it does not fit.
_LIMITS = (
    ("max_user_watches", 8_192, "one is needed for each folder",
     "sudo sysctl fs.inotify.max_user_watches=524288, or watch with --poll"),
    ("max_user_instances", 16, "editors and daemons share them", "sudo sysctl fs.inotify.max_user_instances=512"),
)  # fmt: skip
_REMEDIES = {
    "skipped": "mend or ignore the file",
    "held": "make it readable again; until then its last known text is not shown",
    "withheld": "mend its front matter: until then nobody finds it",
}
_SKIPPED_REMEDIES = {
    "too_large": "raise max_file_bytes, or ignore the file",
    "binary": "it has a NUL in its first 8 KiB: save it as UTF-8 text, or ignore it",
    "symlink": "links below a root are not followed: make what it points to a root of its own, or ignore the link",
    "not_regular": "a FIFO, socket or device: ignore it",
    "foreign_link": "it has other names and belongs to another user than the root: copy it, or make it public",
    "EACCES": "make it readable for the user of the daemon, or ignore it",
    "EPERM": "make it readable for the user of the daemon, or ignore it",
}
_PROBLEM_REMEDIES = {
    "root_unavailable": "mount it, give it its permissions back, or mend its .indexerd.toml and send SIGHUP",
    "watch_limit": "sudo sysctl fs.inotify.max_user_watches=524288, or ignore large generated folders",
    "events_lost": "nothing; if it comes back, raise fs.inotify.max_queued_events",
    "polling": "on a network mount nothing; else sudo sysctl fs.inotify.max_user_instances=512",
    "settings_refused": "mend what it names, then send SIGHUP",
    "events_only": 'set poll to "auto"',
    "publish_failed": "free space, or whatever it names; it is tried again by itself",
    "sync_failed": "see the log; report it if it is no fault of the machine",
    "store_damaged": "nothing, it is written anew; if it comes back, look at the disk",
    "state_directory_lost": "nothing, it is made anew; if another store lies there, move that away or restart",
    "socket_lost": "nothing, it is made anew; if something else stands there, remove it",
    "upkeep_failed": "free space, or whatever it names; it is tried again by itself",
    "merge_failed": "free space, or whatever it names; it is tried again by itself",
}
# What kernels and file systems keep back, and room for a few publishes of a large folder.
_ENOUGH_BYTES = 128 << 20
_PROBE_SECONDS = 2.0
_NO_DAEMON_REMEDY = "name a daemon with --profile or --socket, or start one: indexerd watch ROOT"
_ROOT_REMEDY = "mend it, then restart: from the next start on nothing below this root is looked at until then"
_ROOT_REMEDIES = {
    "bad_settings": "mend its .indexerd.toml, then send SIGHUP or restart",
    "unreadable": "make it readable for the user of the daemon",
}
_DOCUMENT_REMEDIES = {
    "undecodable": "save it as UTF-8: until then words with other bytes are not found",
    "bad_front_matter": "mend the block between the --- lines: until then it is searched as text",
    "front_matter_too_large": "at most 64 KiB and 64 keys are read: shorten it",
}


class Finding(NamedTuple):
    """One thing that is not as it should be: in which area, what is wrong and where, what now."""

    area: str
    what: str
    remedy: str


@click.command("doctor", epilog="Exit status: 0 nothing found, 1 findings, 2 error.")
@as_json
@selecting
def doctor_command(is_json: bool, **flags: object) -> int:
    """Look for everything that weakens a promise, and say what to do about it.

    Also lists every file that is not indexed, cannot be looked at, or is held back from evidence, with the reason.
    """
    selection, place = take_selection(flags), here()
    findings = list(examine(selection, place))
    lines = (f"{one.area:<9} {escape(one.what)}\n    {escape(one.remedy)}" for one in findings)
    write_result([one._asdict() for one in findings], lines, is_json=is_json)
    if not is_json and not findings:
        write(2, "nothing to report\n")
    return 1 if findings else 0


def examine(selection: Selection, place: Place) -> Iterator[Finding]:
    """Examine everything around one watch set."""
    yield from limits(_read_limit)
    yield from _runtime_folder(place)
    yield from stale_sockets(present_sockets(place.environ, place.uid))
    try:
        backend = find_daemon(selection, place)
    except IndexerdError as error:
        yield Finding("daemon", str(error), _NO_DAEMON_REMEDY)
        return
    if backend is None:
        yield from _without_daemon(selection, place)
        return
    with backend:
        status = owner_status(backend, "doctor")
        yield from _settings_findings(status, place)
        yield from version_findings(status)
        yield from disk_findings(str(status.get("state_dir") or "/"))
        yield from daemon_findings(backend)


def _settings_findings(status: Result, place: Place) -> Iterator[Finding]:
    """Read the settings again: the daemon keeps what it read at its start, and the next start needs them."""
    selection = Selection(profile=str(status.get("profile") or ""), state_dir=str(status.get("state_dir") or ""))
    try:
        config = local_config(selection, place)
        if not config.roots:
            # Nothing is indexed yet that names the roots: the daemon does.
            config = place.load(Selection(state_dir=selection.state_dir), roots=tuple(root_paths(status)))
        for problem in config.root_problems:
            yield Finding("settings", problem, _ROOT_REMEDY)
    except ConfigError as error:
        remedy = "mend it: the daemon keeps what it read, and will not start again with this"
        yield from (Finding("settings", problem, remedy) for problem in error.problems)
    except IndexerdError:
        # The daemon's own findings say more than a state directory that cannot be read from here.
        return


def _without_daemon(selection: Selection, place: Place) -> Iterator[Finding]:
    try:
        config = local_config(selection, place)
    except ConfigError as error:
        yield from (Finding("settings", problem, f"edit {place.places.config_file}") for problem in error.problems)
        return
    except IndexerdError as error:
        yield Finding("daemon", str(error), _NO_DAEMON_REMEDY)
        return
    yield from (Finding("settings", problem, _ROOT_REMEDY) for problem in config.root_problems)
    yield from root_findings(config)
    yield from disk_findings(config.state_dir)
    yield from state_findings(config.state_dir, place.uid)
    if os.path.isdir(config.state_dir):
        yield from content_findings(config)


def limits(read: Callable[[str], int | None]) -> Iterator[Finding]:
    """Compare the kernel's limits, as `read` finds them in `/proc/sys/fs/inotify`, with what watching needs."""
    for name, least, need, remedy in _LIMITS:
        number = read(name)
        if number is not None and number < least:
            yield Finding("limits", f"fs.inotify.{name} is {number}: {need}", remedy)


def _read_limit(name: str) -> int | None:
    try:
        with open(f"/proc/sys/fs/inotify/{name}", "rb") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None


def _runtime_folder(place: Place) -> Iterator[Finding]:
    folder = place.places.runtime_dir
    if place.places.runtime_is_fallback:
        what = f"XDG_RUNTIME_DIR is not set: sockets are in {folder}"
        yield Finding("folders", what, "log in anew, or set it to a private folder")
    yield from _private_folder(folder, place.uid, "the folder of the sockets")


def _private_folder(folder: str, uid: int, what: str) -> Iterator[Finding]:
    try:
        found = os.lstat(folder)
    except FileNotFoundError:
        return
    except OSError as error:
        cause = f"{folder}: {what} cannot be looked at ({error.strerror})"
        yield Finding("folders", cause, "give yourself the right to look into the folders above it")
        return
    if not stat.S_ISDIR(found.st_mode):
        yield Finding("folders", f"{folder}: {what} is not a folder", f"remove it: rm {folder}")
    elif found.st_uid != uid:
        yield Finding("folders", f"{folder}: {what} belongs to another user", "have it removed, or set XDG_RUNTIME_DIR")
    elif found.st_mode & 0o022:
        cause = f"{folder}: others can write into {what}: what lies there is not trusted"
        yield Finding("folders", cause, f"chmod 700 {folder}")
    elif found.st_mode & 0o077:
        yield Finding("folders", f"{folder}: others can look into {what}", f"chmod 700 {folder}")


def stale_sockets(sockets: Iterable[str]) -> Iterator[Finding]:
    """Name the sockets that no daemon listens at any more: what kill -9 leaves."""
    for socket in sockets:
        try:
            Client(socket, timeout_seconds=_PROBE_SECONDS).close()
        except UnreachableError:
            what = f"{socket}: nobody listens at this socket; a daemon ended without removing it"
            yield Finding("sockets", what, f"start that daemon again, it takes its socket over; or rm {socket}")
        except BusyError:
            continue


def version_findings(status: Result) -> Iterator[Finding]:
    """Compare the version of a daemon that runs with that of this program."""
    running = status.get("version", "an older one")
    if running != __version__:
        what = f"the daemon that runs is version {running}, this program is {__version__}"
        yield Finding("versions", what, "start it again: indexerd stop, then indexerd watch as before")


def disk_findings(folder: str) -> Iterator[Finding]:
    """Look whether a publish and a merge have room where the index lies."""
    while not os.path.isdir(folder) and folder != "/":
        folder = os.path.dirname(folder)
    try:
        found = os.statvfs(folder)
    except OSError as error:
        yield Finding("disk", f"{folder}: {error.strerror}", "look at that disk; without it nothing can be published")
        return
    free = found.f_bavail * found.f_frsize
    if found.f_flag & os.ST_RDONLY:
        yield Finding("disk", f"{folder}: mounted read-only", "mount it writable, or name another place: --state-dir")
    elif free < _ENOUGH_BYTES:
        what = f"{folder}: {free >> 20:,} MiB are free where the index lies; a merge needs as much as the index takes"
        remedy = "free some space; until then publishes may fail, and nothing that was published is lost"
        yield Finding("disk", what, remedy)
    elif found.f_files and not found.f_favail:
        what = f"{folder}: no file can be made any more (inodes)"
        yield Finding("disk", what, "remove files that nobody needs there")


def mount_findings(config: Config, mounts: bytes) -> Iterator[Finding]:
    """Name the roots that the kernel's mount list has on a file system that does not report others' changes."""
    from indexerd.sync.roots import is_remote, parse_mounts  # noqa: PLC0415 - only where no daemon says it

    known = parse_mounts(mounts)
    remedy = "nothing: it is looked at every 10 seconds and by each query; a local copy is quicker"
    for root in config.roots:
        if is_remote(known, os.path.realpath(os.fsencode(root.path))):
            what = f"{root.path}: a network file system, which does not report what other machines change"
            yield Finding("mounts", what, remedy)


def root_findings(config: Config) -> Iterator[Finding]:
    """Look at each root."""
    from indexerd.sync.roots import read_mounts  # noqa: PLC0415 - as above

    yield from mount_findings(config, read_mounts())
    for root in config.roots:
        if not os.path.isdir(root.path):
            what = f"{root.path}: the root is not there; its documents are held"
            yield Finding("folders", what, "mount or restore it")
        elif not os.access(root.path, os.R_OK | os.X_OK):
            what = f"{root.path}: the root cannot be read; its documents are held"
            yield Finding("folders", what, "check permissions")


def state_findings(state_dir: str, uid: int) -> Iterator[Finding]:
    """Look at the state directory and at every file that the current generation needs."""
    if not os.path.isdir(state_dir):
        yield Finding("store", f"{state_dir}: there is no index yet", "indexerd watch ROOT")
        return
    yield from _private_folder(state_dir, uid, "the state directory")
    from indexerd.cli.local import opened  # noqa: PLC0415 - numpy and the store only where they are needed
    from indexerd.store.verify import fsck  # noqa: PLC0415 - as above

    remedy = "the next start rebuilds what is damaged from the sources"
    with opened(state_dir) as filesystem:
        problems = (one for one in fsck(filesystem) if one.kind == "problem")
        yield from (Finding("store", f"{one.where}: {one.detail}", remedy) for one in problems)


def content_findings(config: Config) -> Iterator[Finding]:
    """Look at the folders once, and into the index as it is: what is not searchable, or not given as evidence?"""
    from indexerd.cli.local import open_as_it_is  # noqa: PLC0415 - as above
    from indexerd.wiring.looking import look_once  # noqa: PLC0415 - as above

    try:
        found = look_once(config)
        for area, entries in (("skipped", found.skipped), ("held", found.held)):
            yield from (_of_file(area, one.source_path, one.reason) for one in entries)
        backend = open_as_it_is(config)
        status = backend.call("status")
        yield from _named(status, "withheld")
        yield from rule_findings(status)
        yield from document_findings(backend)
    except NotFoundError:
        # Nothing is published yet, and so nothing withheld.
        return
    except (IndexerdError, OSError) as error:
        yield Finding("store", f"{config.state_dir}: what is in the index cannot be listed ({error})", "indexerd fsck")


def daemon_findings(backend: Backend) -> Iterator[Finding]:
    """Turn what a daemon says of itself into findings."""
    status = backend.call("status")
    for root in status["roots"]:
        if root["state"] != "ok":
            remedy = _ROOT_REMEDIES.get(root["state"], "mount or restore it")
            yield Finding("folders", f"{root['path']}: {root['state']}; its documents are held", remedy)
    for problem in status["problems"]:
        remedy = _PROBLEM_REMEDIES.get(str(problem["code"]), "see the log")
        yield Finding("daemon", f"{problem['code']}: {problem['detail']}", remedy)
    yield from _named(status, "skipped")
    yield from _held(status)
    yield from _named(status, "withheld")
    if status["state"] != "building":
        yield from rule_findings(status)
    yield from document_findings(backend)


def rule_findings(status: Result) -> Iterator[Finding]:
    """Name the path rules that keep nothing from anybody, since no document lies where they say."""
    for glob in status.get("idle_rules") or ():
        what = f'[[rules]] match = "{glob}": no document lies there'
        yield Finding(
            "rules", what, "mend the glob: it is compared with source paths, as `indexerd documents` lists them"
        )


def document_findings(backend: Backend) -> Iterator[Finding]:
    """Name what the safety gate holds back, and what could not be read as its author meant it."""
    for document in all_documents(backend):
        for problem in document.get("problems") or []:
            remedy = _DOCUMENT_REMEDIES.get(problem, "mend the document")
            yield Finding("document", f"{document['source_path']}: {problem}", remedy)
        for finding in document["unsafe"] or []:
            what = f"{document['source_path']}:{finding['line']}: {finding['pattern']}"
            yield Finding("unsafe", what, 'if it is harmless: [[rules]] match = "PATH" safety = "allow"')


def _held(status: Result) -> Iterator[Finding]:
    """Name held documents, save where a root as a whole is away: that is told already."""
    roots = status["roots"]
    if any(root["state"] == "ok" for root in roots) or not roots:
        yield from _named(status, "held")
    elif status["held"]:
        yield Finding("held", f"{status['held']:,} documents: all there are", _REMEDIES["held"])


def _of_file(area: str, source_path: str, reason: str) -> Finding:
    special = _SKIPPED_REMEDIES if area == "skipped" else {}
    return Finding(area, f"{source_path}: {reason}", special.get(reason, _REMEDIES[area]))


def _named(status: Result, area: str) -> Iterator[Finding]:
    files = status.get(f"{area}_files") or []
    yield from (_of_file(area, entry["source_path"], entry["reason"]) for entry in files)
    rest = (status.get(area) or 0) - len(files)
    if rest > 0:
        yield Finding(area, f"{rest:,} more", "indexerd sync ROOT --json lists all")
