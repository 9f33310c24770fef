"""The store's files looked at while the daemon runs, and mended where something has happened to them.

Owns: how often that is, what the status says meanwhile, where lost texts come from.
Knows nothing of: how damage is noticed and undone.
Invariants: 1. damage is a standing problem from the look that finds it to the look that finds it gone. 2. whatever
    fails is tried again, further and further apart.
Purity: shell (through the store and the sources).
See: docs/consistency.md (damage while running), docs/operations.md (problems).
"""

import logging
from collections.abc import Callable, Sequence

from indexerd.clock import BackOff
from indexerd.digests import content_hash
from indexerd.errors import StoreError
from indexerd.model import ContentHash, SourcePath
from indexerd.ports import Clock, SourceRead, Sources
from indexerd.store import Store
from indexerd.store.healing import Damage
from indexerd.sync.problems import Standing

_log = logging.getLogger(__name__)

LOOK_SECONDS = 2.0
_LONGEST_SECONDS = 60.0


class Mending:
    """Called often by the upkeep's thread; looks when it is time."""

    def __init__(
        self,
        store: Store,
        sources: Sources,
        clock: Clock,
        problems: Standing,
        look_at: Callable[[Sequence[SourcePath]], None],
    ) -> None:
        """`look_at` has the sync index documents anew whose text is lost."""
        self._healing, self._sources, self._clock = store.healing, sources, clock
        self._problems, self._look_at = problems, look_at
        self._healing.recover_from(self._recovered)
        self._look_again = 0.0
        self._back_off = BackOff(LOOK_SECONDS, _LONGEST_SECONDS)

    def __call__(self) -> bool:
        """Look, and mend what is found; return whether files were written anew."""
        now = self._clock.monotonic()
        if now < self._look_again:
            return False
        self._look_again = now + LOOK_SECONDS
        try:
            damage = self._healing.look()
        except OSError as error:
            self._problems.set("store_damaged", f"the state directory cannot be looked at: {error}")
            return False
        if damage is None:
            self._back_off.succeeded()
            self._problems.clear("store_damaged")
            self._problems.clear("state_directory_lost")
            return False
        _log.warning("store_damaged: %s", damage)
        self._tell(damage, str(damage))
        try:
            lost = self._healing.heal(damage)
        except (OSError, StoreError) as error:
            self._look_again = now + self._back_off.failed(error)
            self._tell(damage, f"{damage}; that failed ({error}) and is tried again")
            return False
        if lost:
            self._look_again = now + self._back_off.failed()
            self._look_at(lost)
            return False
        # Looked at again at once: the problem goes when the look says so.
        self._look_again = now
        return True

    def _tell(self, damage: Damage, detail: str) -> None:
        self._problems.set("state_directory_lost", detail if damage.directory else None)
        self._problems.set("store_damaged", None if damage.directory else detail)

    def _recovered(self, path: SourcePath, wanted: ContentHash) -> bytes | None:
        """Return a source's bytes if they are the ones that were indexed."""
        read = self._sources.read(path)
        if isinstance(read, SourceRead) and content_hash(read.data) == wanted:
            return read.data
        return None
