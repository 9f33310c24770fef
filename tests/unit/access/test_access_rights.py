"""Who sees a document, and when."""

from datetime import date

import pytest

from indexerd.access import AccessRules, PathRule, admits, effective_metadata, rights, superseded
from indexerd.access.rights import why_withheld
from indexerd.model import ContentHash, Digest, Document, FrontMatterKeys, SourcePath, UnsafeFinding

TODAY = date(2026, 6, 1)


def document(path="a.md", **fields):
    return Document(
        source_path=SourcePath(path),
        digest=Digest(b""),
        content_hash=ContentHash(b""),
        size_bytes=0,
        line_count=0,
        format="markdown",
        title="",
        **fields,
    )


def rights_of(metadata=None, *rules, path="a.md", **fields):
    return rights(document(path, metadata=metadata or {}, **fields), AccessRules(rules=rules))


def seen(found, *roles, on=TODAY):
    return admits(found, frozenset(roles), on)


def test_a_document_without_keys_is_open():
    """Nobody needs a role for it."""
    assert seen(rights_of())


@pytest.mark.parametrize(
    ("acl", "roles", "expected"),
    [
        (("hr", "legal"), ["legal"], True),
        ("hr, legal", ["legal"], True),
        ("hr", [], False),
        ("hr", ["HR"], False),
        ((), ["hr"], False),
        ("", ["hr", ""], False),
        ((" ",), [" ", ""], False),
    ],
)
def test_any_role_of_an_acl_admits_and_an_empty_one_nobody(acl, roles, expected):
    """Roles are compared exactly."""
    assert seen(rights_of({"acl": acl}), *roles) is expected


def test_acls_of_rules_and_document_must_each_admit():
    """One of each."""
    found = rights_of({"acl": "hr"}, PathRule(match="*.md", acl=("staff",)), PathRule(match="b/**", acl=()))
    assert not seen(found, "hr")
    assert not seen(found, "staff")
    assert seen(found, "hr", "staff")


def test_a_rule_with_an_empty_acl_admits_nobody():
    """An empty list is a decision, not an omission."""
    assert not seen(rights_of(None, PathRule(match="a.md", acl=())), "any")
    assert seen(rights_of(None, PathRule(match="a.md", acl=None)))


def test_keys_guard_in_any_case():
    """`ACL` is an acl."""
    assert not seen(rights_of({"ACL": "hr"}))


def test_validity_is_half_open():
    """The first day counts, the last does not."""
    found = rights_of({"valid_from": "2026-06-01", "valid_to": "2026-06-03"})
    assert [seen(found, on=date(2026, 6, day)) for day in (1, 2, 3)] == [True, True, False]
    assert not seen(found, on=date(2026, 5, 31))


@pytest.mark.parametrize(
    "value", ["", "soon", "2026-13-01", "01.06.2026", "2026-6-1", ("2026-06-01",), "2026-06-01T10:00"]
)
def test_a_date_that_cannot_be_read_hides_the_document(value):
    """Nobody sees it until it is mended."""
    found = rights_of({"valid_to": value})
    assert found.withheld
    assert not seen(found)


@pytest.mark.parametrize("key", ["acl", "valid_from", "VALID_TO"])
def test_an_unread_access_key_hides_the_document(key):
    """Front matter that names it without a readable value decides nothing for the better."""
    assert rights_of(unread_keys=(key,)).withheld
    assert rights_of(
        {"title": "x"}, PathRule(match="*", metadata={key.lower(): "2026-01-01"}), unread_keys=(key,)
    ).withheld


@pytest.mark.parametrize(
    ("changes", "rule", "expected"),
    [
        ({"unread_keys": ("acl",)}, None, "acl cannot be read"),
        ({"metadata": {"valid_to": "soon"}}, None, "valid_to is no date like 2026-09-06"),
        ({"metadata": {"valid_from": "2026-02-30"}}, None, "valid_from is no date like 2026-09-06"),
        ({}, PathRule(match="*", require=("owner",)), "owner is required and not there"),
        ({"metadata": {"acl": ["staff"]}}, None, None),
    ],
)
def test_the_owner_is_told_which_key_withholds_a_document(changes, rule, expected):
    """Who is to mend it must know what; a document that some role sees is not withheld."""
    access = AccessRules(rules=(rule,) if rule else ())
    assert why_withheld(document(**changes), access) == expected


def test_an_unread_key_of_no_consequence_hides_nothing():
    """A broken tag list costs the tags."""
    assert seen(rights_of(unread_keys=("tags",)))


def test_configured_keys_are_the_ones_that_count():
    """With `groups` as acl key, `acl` is plain metadata."""
    access = AccessRules(keys=FrontMatterKeys(acl=("groups",)))
    assert seen(rights(document(metadata={"acl": "x"}), access))
    assert not seen(rights(document(metadata={"groups": "x"}), access))


def test_a_required_key_that_is_missing_hides_the_document():
    """A rule may ask that documents under a path carry a key; a default counts."""
    rule = PathRule(match="policies/**", require=("owner",))
    assert rights_of(None, rule, path="policies/a.md").withheld
    assert not rights_of({"Owner": "x"}, rule, path="policies/a.md").withheld
    assert not rights_of(None, rule, path="other/a.md").withheld
    default = PathRule(match="policies/**", metadata={"owner": "y"})
    assert not rights_of(None, rule, default, path="policies/a.md").withheld


def test_rules_complete_metadata_and_never_replace_it():
    """What a document says stands; what it could not say is not said for it."""
    access = AccessRules(
        rules=(
            PathRule(match="*", metadata={"lang": "en", "kind": "a"}),
            PathRule(match="a.md", metadata={"kind": "b"}),
        )
    )
    found = effective_metadata(document(metadata={"Lang": "de"}, unread_keys=("x",)), access)
    assert dict(found) == {"Lang": "de", "kind": "b"}


def test_boosts_multiply_and_the_last_word_on_safety_counts():
    """Rules are read in order."""
    unsafe = (UnsafeFinding(3, "override"),)
    allow, hold = PathRule(match="*", safety="allow", boost=2.0), PathRule(match="a.md", safety="withhold", boost=0.5)
    assert rights_of(None, unsafe=unsafe).unsafe
    assert not rights_of(None, allow, unsafe=unsafe).unsafe
    assert rights_of(None, allow, hold, unsafe=unsafe) == rights_of(None, unsafe=unsafe)
    assert rights_of(None, allow).boost == 2.0


SERIES = PathRule(match="policies/**", supersede_by="series")


def version(number, **fields):
    return rights_of({"series": "leave", "version": str(number), **fields}, SERIES, path="policies/a.md")


def test_the_newest_visible_version_replaces_the_others():
    """By valid_from, then by the numbers in `version`."""
    visible = {"old": version("1.9"), "new": version("1.10"), "dated": version("1.0", valid_from="2026-01-01")}
    assert superseded(visible) == {"old", "new"}
    del visible["dated"]
    assert superseded(visible) == {"old"}


def test_equal_versions_do_not_replace_each_other():
    """Without an order both stay."""
    assert superseded({"a": version(2), "b": version("2")}) == frozenset()


def test_series_outside_a_rule_replace_nothing():
    """No key of a document changes another's fate by itself."""
    free = {name: rights_of({"series": "leave", "version": name}) for name in ("1", "2")}
    assert superseded(free) == frozenset()


def test_two_rules_do_not_share_a_series():
    """The same name under another rule is another series."""
    other = PathRule(match="drafts/**", supersede_by="series")
    found = rights_of({"series": "leave", "version": "9"}, SERIES, other, path="drafts/a.md")
    assert superseded({"policy": version(1), "draft": found}) == frozenset()


def test_any_metadata_key_may_name_the_series():
    """A rule says which."""
    rule = PathRule(match="*", supersede_by="topic")
    visible = {name: rights_of({"topic": "t", "version": name}, rule) for name in ("1", "2")}
    assert superseded(visible) == {"1"}
