"""Who is asking, and what that lets them ask.

Owns: the decision from a kernel-given identity to a caller with roles, or to a refusal.
Knows nothing of: sockets, user databases (names are resolved to numbers before they come here).
Invariants: 1. the daemon's own user and root are owners; everybody else has what the configuration gives, or is
    refused.
    2. only an owner may act under roles it was not given.
Purity: pure.
See: docs/protocol.md (callers), docs/threat-model.md.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from indexerd.errors import ForbiddenError

_ROOT_UID = 0
_NOBODY: Mapping[int, tuple[str, ...]] = MappingProxyType({})


class Peer(NamedTuple):
    """The process at the other end, as the kernel named it when it connected. Decisions never use its pid."""

    uid: int
    gid: int
    groups: frozenset[int] = frozenset()


class Caller(NamedTuple):
    """A peer that was let in.

    Attributes:
        is_owner: Whether it is the daemon's own user, or root.
        roles: Roles it acts under unless a request says otherwise.
    """

    uid: int
    gid: int
    groups: frozenset[int]
    is_owner: bool
    roles: frozenset[str]

    def acting_roles(self, named: tuple[str, ...] | None) -> frozenset[str]:
        """Return the roles of one request.

        Args:
            named: Roles that the request names; None if it names none, `()` if it wants to act under none.

        Raises:
            ForbiddenError: It names one that this caller may not take.
        """
        if named is None:
            return self.roles
        wanted = frozenset(named)
        if not self.is_owner and not wanted <= self.roles:
            # Which of them exist is not for this caller to learn.
            raise ForbiddenError("roles can only be narrowed to those you have")
        return wanted

    def require_owner(self, what: str) -> None:
        """Refuse everybody but an owner.

        Raises:
            ForbiddenError: This caller is no owner.
        """
        if not self.is_owner:
            raise ForbiddenError(f"{what} is for the daemon's owner only")


class Admission(NamedTuple):
    """Who is let in.

    Attributes:
        owner_uid: The daemon's own user.
        owner_roles: Roles of the owner by default.
        users: Roles of other users, by number.
        groups: Roles of their groups, by number.
    """

    owner_uid: int
    owner_roles: frozenset[str] = frozenset()
    users: Mapping[int, tuple[str, ...]] = _NOBODY
    groups: Mapping[int, tuple[str, ...]] = _NOBODY

    def admit(self, peer: Peer) -> Caller | None:
        """Return the caller that a peer is, or None if it is to be refused."""
        is_owner = peer.uid in (self.owner_uid, _ROOT_UID)
        groups = peer.groups | {peer.gid}
        named = [self.users[peer.uid]] if peer.uid in self.users else []
        named += [self.groups[gid] for gid in sorted(groups) if gid in self.groups]
        if not is_owner and not named:
            return None
        roles = self.owner_roles if is_owner else frozenset(role for roles in named for role in roles)
        return Caller(uid=peer.uid, gid=peer.gid, groups=groups, is_owner=is_owner, roles=roles)
