"""Mistakes that somebody could make at the gates, and the tests that are meant to see each of them."""

from tests.crash.fault_table import Fault

RIGHTS = "tests/unit/access/test_access_rights.py"
DOORS = "tests/unit/service/test_service_doors.py"
VALIDITY = "tests/unit/service/test_service_validity.py"
CHECKING = "tests/unit/service/test_service_checking.py"
UNSEEN = "tests/property/test_property_unseen.py::test_no_answer_tells_of_what_the_asker_may_not_see[0]"

GATE_FAULTS = [
    Fault(
        "roles are not asked",
        "access/rights.py",
        "not document_rights.withheld and all(not roles.isdisjoint(entry) for entry in document_rights.acl)",
        "not document_rights.withheld",
        (f"{RIGHTS}::test_acls_of_rules_and_document_must_each_admit", f"{DOORS}", f"{VALIDITY}"),
    ),
    Fault(
        "one acl of several is enough",
        "access/rights.py",
        "and all(not roles.isdisjoint(entry)",
        "and any(not roles.isdisjoint(entry)",
        (f"{RIGHTS}::test_acls_of_rules_and_document_must_each_admit",),
    ),
    Fault(
        "the last day of validity counts",
        "access/rights.py",
        "as_of < ends",
        "as_of <= ends",
        (
            f"{RIGHTS}::test_validity_is_half_open",
            f"{VALIDITY}::test_without_a_day_it_is_the_clocks_and_the_reply_names_it",
        ),
    ),
    Fault(
        "a value that cannot be read admits everybody",
        "access/rights.py",
        "return Rights(withheld=True, unsafe",
        "return Rights(unsafe",
        (f"{RIGHTS}::test_a_date_that_cannot_be_read_hides_the_document",),
    ),
    Fault(
        "a rule speaks of documents outside of its path",
        "access/rights.py",
        "enumerate(access.rules) if matches(rule.match, document.source_path)]",
        "enumerate(access.rules)]",
        (f"{VALIDITY}::test_no_document_outside_of_the_rule_replaces_one_inside",),
    ),
    Fault(
        "passages are counted whether they may be seen or not",
        "search/view.py",
        "        n=int(np.count_nonzero(eligible)),",
        "        n=int(np.count_nonzero(holding)),",
        (UNSEEN,),
    ),
    Fault(
        "words are counted in all passages",
        "search/view.py",
        "        if self.is_whole:\n            return len(chunks)\n",
        "        if chunks is not None:\n            return len(chunks)\n",
        (UNSEEN,),
    ),
    Fault(
        "lengths are averaged over all passages",
        "search/view.py",
        "(lengths * eligible).sum(",
        "lengths.sum(",
        (UNSEEN,),
    ),
    Fault(
        "the factor of a hidden document counts",
        "search/view.py",
        "segment.boosts[segment.eligible].max(",
        "segment.boosts.max(",
        (UNSEEN,),
    ),
    Fault(
        "a hidden version replaces a visible one",
        "search/eligibility.py",
        "    seen = [mask[one.versions.indexes] for mask,",
        "    seen = [mask[one.versions.indexes] | True for mask,",
        (f"{VALIDITY}::test_a_newer_version_that_cannot_be_seen_replaces_nothing", UNSEEN),
    ),
    Fault(
        "hidden documents that are unsafe are counted",
        "search/eligibility.py",
        "        unsafe &= documents\n",
        "        unsafe &= live.live\n",
        (UNSEEN,),
    ),
    Fault(
        "unsafe text gets into evidence",
        "search/engine.py",
        "withholds_unsafe = request.evidence or request.safe",
        "withholds_unsafe = request.safe",
        (f"{VALIDITY}::test_an_agent_gets_the_passage_or_nothing_and_never_the_bait",),
    ),
    Fault(
        "the proof does not ask for rights",
        "search/freshness.py",
        'return Hidden() if self._hides(source_path, read.data) else Unproved("source_changed")',
        'return Unproved("source_changed")',
        ("tests/unit/search/test_search_engine.py",),
    ),
    Fault(
        "rights of today are not asked of the past",
        "search/recall.py",
        "if segment.live[index] and not may_see(own, roles)",
        "if segment.live[index] and not may_see(own, roles) and own.withheld",
        (f"{VALIDITY}::test_present_rights_win_over_those_of_the_past",),
    ),
    Fault(
        "others are told the owner's counts",
        "service/condition.py",
        "        if not caller.is_owner:\n",
        "        if not caller.roles and not caller.is_owner:\n",
        (f"{DOORS}::test_a_number_tells_the_same_however_its_asker_narrows_his_roles", f"{DOORS}", UNSEEN),
    ),
    Fault(
        "others are told the number that is published",
        "service/searching.py",
        "        if caller.is_owner:\n            return snapshot.generation\n",
        "        if caller.roles or caller.is_owner:\n            return snapshot.generation\n",
        (f"{DOORS}::test_a_number_tells_the_same_however_its_asker_narrows_his_roles",),
    ),
    Fault(
        "others take roles that they have not got",
        "service/callers.py",
        "if not self.is_owner and not wanted <= self.roles:",
        "if not self.is_owner and not self.roles:",
        (f"{DOORS}::test_more_roles_cannot_be_had_by_naming_them",),
    ),
    Fault(
        "a hidden file that cannot be read is told from one that is not there",
        "service/paths.py",
        "    if indexed is None:\n        # The owner",
        "    if not isinstance(found, SourceRead):\n        # The owner",
        (f"{DOORS}::test_a_hidden_file_that_cannot_be_read_is_not_there_either", UNSEEN),
    ),
    Fault(
        "others read files that are not indexed",
        "service/paths.py",
        "if indexed is None and not caller.is_owner:",
        "if indexed is None and not caller.is_owner and roles:",
        (f"{DOORS}::test_others_read_no_file_that_is_not_indexed",),
    ),
    Fault(
        "a replaced version is evidence",
        "service/checking.py",
        "own.unsafe or self._is_superseded(cited.source_path, own)",
        "own.unsafe",
        (f"{CHECKING}::test_evidence_of_a_version_that_a_newer_one_replaced_is_not_valid",),
    ),
]
