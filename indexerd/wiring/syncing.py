"""The sync of a watch set, put together.

Owns: what of a configuration reaches the sync.
Knows nothing of: how a sync works, who calls it.
Invariants: 1. nothing here is imported before a sync is needed: with all that it stands on, it is a quarter of a start.
Purity: shell.
See: ARCHITECTURE.md (the composition root).
"""

from indexerd.clock import SystemClock
from indexerd.config import Config, RootRules
from indexerd.model import Root
from indexerd.ports import Sources
from indexerd.store import Store
from indexerd.store.fsio import RealStoreFilesystem
from indexerd.sync.ignore import IgnoreOptions
from indexerd.sync.loop import SyncLoop
from indexerd.sync.options import POLL_SECONDS, SyncOptions
from indexerd.sync.scan import Scanner
from indexerd.sync.surroundings import GitUser
from indexerd.sync.watcher import Watcher


def sync_of(  # noqa: PLR0913 - the parts of a sync
    config: Config, *, roots: tuple[Root, ...], sources: Sources, store: Store, fs: RealStoreFilesystem, watch: bool
) -> SyncLoop:
    """Return a sync that is not started.

    Args:
        config: What to index, and how.
        roots: In the form that the store fixed.
        sources: Reads below the same roots.
        store: Open for writing.
        fs: Its directory.
        watch: Whether folders are to be watched once it is started.
    """
    polls = config.poll == "always" or isinstance(config.poll, float)
    return SyncLoop(
        store=store,
        sources=sources,
        scanner=scanner_of(config, roots),
        roots=roots,
        settings=config.settings,
        clock=SystemClock(),
        options=SyncOptions(
            max_file_bytes=config.max_file_bytes,
            poll=polls,
            poll_seconds=config.poll if isinstance(config.poll, float) else POLL_SECONDS,
            trust_events=config.poll == "never",
        ),
        watcher=Watcher() if watch and not polls else None,
        fs=fs,
    )


def scanner_of(config: Config, roots: tuple[Root, ...]) -> Scanner:
    """Return what looks below the roots.

    Args:
        config: What is left out, and where.
        roots: In the form that the store fixed.
    """
    return Scanner(
        roots,
        {root.label: ignore_options(config, root) for root in roots},
        max_file_bytes=config.max_file_bytes,
        own_paths=(config.state_dir, config.socket.path),
        git_user=GitUser(config.home, config.settings_home) if config.home else None,
    )


def ignore_options(config: Config, root: Root) -> IgnoreOptions:
    """Return what is left out below a root: what its own file says goes before what its profile says."""
    own = next((rules for rules in config.root_rules if rules.label == root.label), RootRules(label=root.label))
    return IgnoreOptions(
        formats=config.settings.formats if own.formats is None else own.formats,
        hidden=config.hidden if own.hidden is None else own.hidden,
        node_modules=config.node_modules if own.node_modules is None else own.node_modules,
        tagged_caches=config.tagged_caches if own.tagged_caches is None else own.tagged_caches,
        patterns=(*config.ignore, *own.ignore),
        is_broken=bool(own.problems),
    )
