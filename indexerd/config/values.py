"""The configuration of one profile as one frozen value.

Owns: which settings exist, their defaults, and their meaning.
Knows nothing of: TOML, flags, where a value came from (that is `origins`, for display only).
Invariants: 1. a Config is valid as a whole: whoever holds one need not check it again.
Purity: pure.
See: docs/operations.md.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

from indexerd.access import AccessRules
from indexerd.model import History, Root, Settings

PollWhen = Literal["auto", "always", "never"]
# Seconds between two looks mean "always".
Poll = PollWhen | float
Durability = Literal["checkpoint", "always"]


class RootRules(NamedTuple):
    """What holds below one root only, from its `.indexerd.toml`.

    Attributes:
        ignore: Patterns in gitignore form, relative to the root.
        formats: Endings indexed below this root; None for those of the profile.
        hidden: Whether hidden files and folders are indexed here; None for what the profile says.
        node_modules: The same for folders of that name.
        tagged_caches: The same for folders with a CACHEDIR.TAG.
        problems: What is wrong with the file; then nothing of it counts, and nothing below the root is looked at: it
            might say what must not be indexed.
    """

    label: str
    ignore: tuple[str, ...] = ()
    formats: tuple[str, ...] | None = None
    hidden: bool | None = None
    node_modules: bool | None = None
    tagged_caches: bool | None = None
    problems: tuple[str, ...] = ()


class Roles(NamedTuple):
    """Who has which roles.

    Attributes:
        owner: Roles of the daemon's own user by default.
        users: `(user name or number, roles)` of other users.
        groups: `(group name or number, roles)` of their groups.
    """

    owner: tuple[str, ...] = ()
    users: tuple[tuple[str, tuple[str, ...]], ...] = ()
    groups: tuple[tuple[str, tuple[str, ...]], ...] = ()


class Socket(NamedTuple):
    """The daemon's socket.

    Attributes:
        path: Where it lies.
        mode: Permission bits.
        group: Group that owns it; None for the user's own.
        is_default: It lies in the default directory, which is made 0700; one named otherwise must exist.
        clients_look_in: Directory where clients look for daemons; empty for nowhere.
    """

    path: str
    mode: int = 0o600
    group: str | None = None
    is_default: bool = True
    clients_look_in: str = ""


class Log(NamedTuple):
    """How the daemon speaks on standard error.

    Attributes:
        queries: Whether lines about requests name what was asked by its hash, or as it was.
    """

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["text", "json"] = "text"
    queries: Literal["hash", "text"] = "hash"


class Config(NamedTuple):
    """Everything a daemon or a one-shot command of one profile needs to know.

    Attributes:
        profile: Its name.
        roots: What it watches; may be empty where a command only needs places.
        state_dir: Absolute path of its state directory.
        settings: What decides how documents are stored.
        access: What decides who may see them.
        max_file_bytes: Larger files are skipped.
        hidden: Whether hidden files and folders are indexed.
        node_modules: Whether folders of this name are.
        tagged_caches: Whether folders with a CACHEDIR.TAG are.
        ignore: Further patterns in gitignore form, for every root.
        root_rules: What single roots add, in the order of `roots`.
        poll: Whether folders are polled instead of watched; `auto` where events may not tell of every change.
        home: The user's home; empty for nobody's: git's own settings for all repositories are looked for there.
        settings_home: The folder that holds the settings of the user's programs.
        origins: `section.key` to where its value comes from; keys not named have their default.
    """

    profile: str
    roots: tuple[Root, ...]
    state_dir: str
    socket: Socket
    settings: Settings
    access: AccessRules
    max_file_bytes: int = 16 * 1024 * 1024
    hidden: bool = False
    node_modules: bool = False
    tagged_caches: bool = False
    ignore: tuple[str, ...] = ()
    root_rules: tuple[RootRules, ...] = ()
    poll: Poll = "auto"
    durability: Durability = "checkpoint"
    roles: Roles = Roles()
    history: History = History()
    log: Log = Log()
    home: str = ""
    settings_home: str = ""
    origins: Mapping[str, str] = MappingProxyType({})

    @property
    def root_problems(self) -> tuple[str, ...]:
        """What is wrong with the roots' own files."""
        return tuple(problem for rules in self.root_rules for problem in rules.problems)
