"""From names in the configuration to the numbers that the kernel speaks of.

Owns: looking up users and groups.
Knows nothing of: what they may do.
Invariants: 1. an unknown name is a problem of the configuration, never silently nobody.
Purity: shell (the system's user database).
See: docs/operations.md (roles).
"""

import grp
import os
import pwd
from collections.abc import Callable

from indexerd.config import Config
from indexerd.errors import ConfigError
from indexerd.service.callers import Admission


def admission_of(config: Config) -> Admission:
    """Return who is let in.

    Raises:
        ConfigError: A user or group is not known here; lists every one.
    """
    problems: list[str] = []
    users = _numbered(config.roles.users, user_number, problems)
    groups = _numbered(config.roles.groups, group_number, problems)
    if problems:
        raise ConfigError(problems)
    owner_roles = frozenset(config.roles.owner)
    return Admission(owner_uid=os.geteuid(), owner_roles=owner_roles, users=users, groups=groups)


def _numbered(
    named: tuple[tuple[str, tuple[str, ...]], ...], number_of: Callable[[str], int], problems: list[str]
) -> dict[int, tuple[str, ...]]:
    found: dict[int, tuple[str, ...]] = {}
    for name, roles in named:
        try:
            number = number_of(name)
        except ConfigError as error:
            problems += error.problems
            continue
        found[number] = found.get(number, ()) + roles
    return found


def user_number(name: str) -> int:
    """Return a user's number.

    Raises:
        ConfigError: There is no such user.
    """
    if name.isascii() and name.isdigit():
        return int(name)
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError as error:
        raise ConfigError([f"[roles] users: no user {name!r} on this machine"]) from error


def group_number(name: str) -> int:
    """Return a group's number.

    Raises:
        ConfigError: There is no such group.
    """
    if name.isascii() and name.isdigit():
        return int(name)
    try:
        return grp.getgrnam(name).gr_gid
    except KeyError as error:
        raise ConfigError([f"no group {name!r} on this machine"]) from error
