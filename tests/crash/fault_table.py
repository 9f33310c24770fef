"""Mistakes that somebody could make, and the tests that are meant to see each of them."""

from typing import NamedTuple

SWEEP = "tests/crash/test_crash_store_sweep.py"
POWER = f"{SWEEP}::test_power_cut_at_every_operation_keeps_what_was_reported_durable"
WRITER = "tests/unit/store/test_store_writer.py"
OPENING = "tests/unit/store/test_store_opening.py"
RETELLING = "tests/unit/store/test_store_retelling.py"
ROT = "tests/crash/test_crash_rot.py"
SYNC_FAULTS = "tests/integration/test_sync_faults.py"
REFUSALS = "tests/crash/test_crash_refusals.py"


class Fault(NamedTuple):
    """A mistake somebody could make.

    Attributes:
        name: The mistake, in words.
        file: Module below `indexerd/`.
        old: Text that is there once.
        new: What the mistake makes of it.
        tests: What sees it; each of them alone has to.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


FAULTS = [
    Fault(
        "memory is swapped before the slot is replaced",
        "store/ledger.py",
        "        commit(self._fs, self._staging, slot, SlotName.LATEST",
        "        self.state = state\n        commit(self._fs, self._staging, slot, SlotName.LATEST",
        (f"{SWEEP}::test_an_error_at_every_operation_changes_nothing[edit-ENOSPC-once]",),
    ),
    Fault(
        "the durable slot moves before what it names is flushed",
        "store/durability.py",
        "        self._flush_files(sorted(pending, key=_segments_first))\n        self._protected |= state.names()\n"
        "        slot = numbered(self._staging, slot)\n"
        "        commit(self._fs, self._staging, slot, SlotName.DURABLE, flush=True)\n",
        "        self._protected |= state.names()\n        slot = numbered(self._staging, slot)\n"
        "        commit(self._fs, self._staging, slot, SlotName.DURABLE, flush=True)\n"
        "        self._flush_files(sorted(pending, key=_segments_first))\n",
        (f"{POWER}[checkpoint]",),
    ),
    Fault(
        "the move of the durable slot is not flushed",
        "store/publish.py",
        "    if flush:\n        _flush_move(fs)\n",
        "",
        (f"{POWER}[shutdown]",),
    ),
    Fault(
        "the durable slot's bytes are not flushed",
        "store/publish.py",
        "            fs.flush_file(temporary)\n",
        "            pass\n",
        (f"{POWER}[checkpoint]",),
    ),
    Fault(
        "the files that the durable slot names are not flushed",
        "store/durability.py",
        "                self._fs.flush_file(name)\n",
        "                pass\n",
        (f"{POWER}[checkpoint]",),
    ),
    Fault(
        "a failed flush is tried again on the same file",
        "store/durability.py",
        "                self._dead |= {name}\n",
        "                pass\n",
        (f"{SWEEP}::test_a_failed_flush_is_never_trusted_afterwards[1]",),
    ),
    Fault(
        "a failed flush of the directory is tried again on the same names",
        "store/durability.py",
        "            self._dead |= frozenset(pending)\n",
        "            pass\n",
        (f"{SWEEP}::test_a_failed_flush_is_never_trusted_afterwards[0]",),
    ),
    Fault(
        "files of an earlier process are taken for flushed",
        "store/opening.py",
        "dead=state.names() - flushed)",
        "dead=frozenset())",
        (f"{SWEEP}::test_a_flush_that_failed_before_a_kill_is_not_trusted_after_it",),
    ),
    Fault(
        "what the durable slot names is collected",
        "store/writer.py",
        " | self._durability.protected | self._staging.staged()",
        " | self._staging.staged()",
        (f"{WRITER}::test_collection_waits_for_the_durable_slot", f"{POWER}[merge, collect]"),
    ),
    Fault(
        "what is being prepared is collected",
        "store/writer.py",
        " | self._durability.protected | self._staging.staged()",
        " | self._durability.protected",
        (f"{WRITER}::test_collection_spares_what_is_being_prepared",),
    ),
    Fault(
        "the live set is taken before the directory is listed",
        "store/collect.py",
        "    names = fs.names()\n    staying = live()\n    garbage",
        "    staying = live()\n    names = fs.names()\n    garbage",
        (f"{WRITER}::test_a_file_written_while_collection_lists_is_spared",),
    ),
    Fault(
        "a generation's number is used again after a restart",
        "store/opening.py",
        "highest = closed.ceiling if closed else max((slot.ceiling for slot in found.slots.values()), default=0)",
        "highest = state.generation",
        (f"{OPENING}::test_numbers_go_on_above_what_was_lost", f"{POWER}[add]"),
    ),
    Fault(
        "no ceiling is reserved",
        "store/checkpoint.py",
        "        return self._ledger.highest >= self._ledger.ceiling",
        "        return False",
        (f"{WRITER}::test_numbers_are_reserved_in_advance",),
    ),
    Fault(
        "a file's serial number is given out again",
        "store/staging.py",
        "            self._next += 1\n",
        "            self._next += 0\n",
        (f"{WRITER}::test_numbers_are_reserved_in_advance",),
    ),
    Fault(
        "a name is used again for the same content",
        "store/manifest.py",
        "    return str(FileName(kind, serial, digest))\n",
        "    return str(FileName(kind, 0, digest))\n",
        (f"{POWER}[add]",),
    ),
    Fault(
        "a failed publish leaves its manifest behind",
        "store/writer.py",
        "            self._staging.discard([name])\n",
        "",
        (f"{WRITER}::test_a_publish_that_failed_at_the_replace_leaves_no_file",),
    ),
    Fault(
        "a slot on its way stays behind a failed replace",
        "store/publish.py",
        "            staging.discard(staged)\n",
        "",
        (f"{WRITER}::test_a_publish_that_failed_at_the_replace_leaves_no_file",),
    ),
    Fault(
        "the older slot is trusted",
        "store/recover.py",
        "key=lambda name: (-slots[name].revision,",
        "key=lambda name: (slots[name].revision,",
        (f"{OPENING}::test_the_newest_generation_is_opened",),
    ),
    Fault(
        "a segment's hash is not compared",
        "store/recover.py",
        "    if fast_digest(data) != ref.digest:",
        "    if len(data) == 0:",
        (f"{ROT}::test_a_flipped_byte_is_never_used[segment]",),
    ),
    Fault(
        "a checksum covers the payload and not its length",
        "store/codec.py",
        "    if length != len(view) - ENVELOPE_BYTES:",
        "    if False:",
        ("tests/unit/store/test_store_codec.py",),
    ),
    Fault(
        "tombstones are ignored",
        "store/parts.py",
        "    return np.concatenate([np.asarray(segment.path_keys), np.asarray(segment.tombstone_keys)])",
        "    return np.asarray(segment.path_keys)",
        ("tests/unit/store/test_store_parts.py::test_publishing_step_by_step_shows_what_a_dictionary_would",),
    ),
    Fault(
        "a merge drops tombstones that are still needed",
        "store/compaction.py",
        "        return self.plan.start == 0\n",
        "        return True\n",
        ("tests/property/test_property_store.py::test_any_history_of_large_parts_does_too[118]",),
    ),
    Fault(
        "what a merge has changed for an old generation is not taken back",
        "store/retelling.py",
        "            keep[old[0]][old[1]] = True\n",
        "            pass\n",
        (f"{RETELLING}::test_a_merge_of_everything_pushes_nothing_out_of_history",),
    ),
    Fault(
        "what was added since shows in an old generation",
        "store/retelling.py",
        "            dead += [path] if new is not None else []\n",
        "            pass\n",
        (f"{RETELLING}::test_a_merge_of_everything_pushes_nothing_out_of_history",),
    ),
    Fault(
        "a merge drops what was published meanwhile",
        "store/state.py",
        "            *_as_one(behind, later[len(behind) :]),\n            *after,\n",
        "",
        (f"{WRITER}::test_a_publish_during_a_merge_loses_nothing",),
    ),
    Fault(
        "a merge brings back what was overridden meanwhile",
        "store/state.py",
        "    return tuple(functools.reduce(kill, later, part) for part in joined)",
        "    return tuple(joined)",
        (f"{WRITER}::test_a_publish_during_a_merge_loses_nothing",),
    ),
    Fault(
        "a merge drops what its first part was joined with meanwhile",
        "store/state.py",
        "            *_as_one(parted_before, [merged.data, *later]),\n",
        "",
        ("tests/unit/store/test_store_state.py",),
    ),
    Fault(
        "a merge is not held to the counts of the generation",
        "store/compaction.py",
        "    if counts[0] != counts[1]:\n",
        "    if False:\n",
        (f"{WRITER}::test_a_merge_that_would_lose_a_document_is_not_committed",),
    ),
    Fault(
        "an existing file is written over",
        "store/fsio.py",
        "_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL |",
        "_NEW = os.O_WRONLY | os.O_CREAT |",
        ("tests/contract/test_contract_store_filesystem.py::test_a_file_is_never_written_twice",),
    ),
    Fault(
        "want of descriptors is taken for damage",
        "store/recover.py",
        "_NOT_OUR_FILE = {\n",
        "_NOT_OUR_FILE = {\n    errno.EMFILE,\n",
        (f"{OPENING}::test_the_machines_faults_are_not_damage",),
    ),
    Fault(
        "an equal fast hash is believed",
        "sync/reading.py",
        " and content_hash(read.data) == want.content_hash:",
        ":",
        ("tests/unit/sync/test_sync_reading.py",),
    ),
    Fault(
        "a file that waits in the draft is not known to a look",
        "sync/cycle.py",
        "added = draft.added(self.ledger) if draft else {}",
        "added = {}",
        (f"{REFUSALS}::test_what_changes_before_the_retry_is_counted_as_it_is_then[replace]",),
    ),
    Fault(
        "what a refused sync took is given up",
        "sync/apply.py",
        "            store.abort(prepared)\n            raise\n",
        "            store.abort(prepared)\n            self._start_over()\n            raise\n",
        (f"{SYNC_FAULTS}::test_a_publish_that_fails_changes_nothing_and_is_tried_again[EIO-replace]",),
    ),
    Fault(
        "a short write is taken for a whole one",
        "store/fsio.py",
        "                rest = rest[_written(fd, rest) :]\n",
        "                rest = rest[_written(fd, rest) and len(rest) :]\n",
        ("tests/unit/store/test_store_fsio.py::test_short_writes_are_gone_on_with",),
    ),
    Fault(
        "a segment's numbers may lead outside of it",
        "store/segment_codec.py",
        "    for misfit in _misfits(segment, lists):\n        raise ValueError(misfit)\n",
        "",
        (f"{ROT}::test_what_is_forged_with_right_checksums_is_refused[segment: postings huge]",),
    ),
    Fault(
        "a count of a segment may ask for any memory",
        "store/segment_codec.py",
        "not all(is_count(count) and count <= file_bytes for count in counts)",
        "not all(is_count(count) and count <= file_bytes << 20 for count in counts)",
        (f"{ROT}::test_what_is_forged_with_right_checksums_is_refused[segment: count 1 of a billion]",),
    ),
    Fault(
        "an envelope may have any size",
        "store/codec.py",
        "    if len(view) > SEALED_LIMIT_BYTES + ENVELOPE_BYTES:",
        "    if False:",
        ("tests/unit/store/test_store_codec.py::test_an_envelope_beyond_the_limit_is_not_even_looked_into",),
    ),
    Fault(
        "lost slots are taken for a new store",
        "store/recover.py",
        "    if not faults and not slots:",
        "    if False:",
        (f"{OPENING}::test_lost_slots_are_damage_not_absence",),
    ),
]
