"""What a root stands for, and on what kind of file system it lies."""

from indexerd.sync.roots import RootIdentities, identity_of, is_remote, mounts_at, parse_mounts

MOUNTS = rb"""22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:44 / /home/a\040b rw - tmpfs tmpfs rw
31 22 0:45 / /home/net rw shared:2 - nfs4 server:/x rw
32 31 0:46 / /home/net/local rw - ext4 /dev/vdb rw
33 22 0:47 / /mnt/ssh rw - fuse.sshfs host: rw
34 22 0:48 / /srv rw - overlay overlay rw
garbage
"""


def test_a_mount_list_is_read_with_its_escapes():
    """Names with spaces are unescaped, lines that cannot be read are left out."""
    mounts = parse_mounts(MOUNTS)
    assert [mount.point for mount in mounts][:2] == [b"/", b"/home/a b"]
    assert len(mounts) == 6


def test_remote_file_systems_are_known_by_the_innermost_mount():
    """The type of the deepest mount above a path counts."""
    mounts = parse_mounts(MOUNTS)
    remote = {path: is_remote(mounts, path) for path in (b"/home/net/x", b"/home/net/local/x", b"/mnt/ssh", b"/srv/x")}
    assert remote == {b"/home/net/x": True, b"/home/net/local/x": False, b"/mnt/ssh": True, b"/srv/x": False}
    assert not is_remote((), b"/x")


def test_of_two_mounts_on_one_point_the_later_counts():
    """What is mounted over hides what was there."""
    mounts = parse_mounts(b"1 0 0:1 / /d rw - nfs a rw\n2 1 0:2 / /d rw - ext4 b rw\n")
    assert not is_remote(mounts, b"/d/x")


def test_only_mounts_around_a_path_concern_it():
    """Those above and below count, those beside do not, also when the name begins alike."""
    mounts = parse_mounts(MOUNTS)
    assert [mount.number for mount in mounts_at(mounts, b"/home/net")] == [22, 31, 32]
    assert [mount.number for mount in mounts_at(mounts, b"/home/ne")] == [22]


def test_a_root_that_is_replaced_is_noticed_once(tmp_path):
    """Gone, back as another, and unchanged: each change is told at the next question and not again."""
    root = tmp_path / "root"
    root.mkdir()
    identities = RootIdentities([str(root)])
    assert identities.changed() == []
    root.rename(tmp_path / "away")
    assert identities.changed() == [str(root)]
    assert identities.changed() == []
    root.mkdir()
    assert identities.changed() == [str(root)]


def test_a_root_that_admits_others_is_noticed_once(tmp_path):
    """No event tells of a root that could not be read, and so not be watched: its permissions do."""
    identities = RootIdentities([str(tmp_path)])
    tmp_path.chmod(0o500)
    assert identities.changed() == [str(tmp_path)]
    tmp_path.chmod(0o700)
    (tmp_path / "inside").touch()
    assert identities.changed() == [str(tmp_path)]
    (tmp_path / "inside").unlink()
    assert identities.changed() == []


def test_what_is_not_there_has_no_identity(tmp_path):
    """A missing path is None, an existing one is not."""
    assert identity_of(str(tmp_path / "nothing")) is None
    assert identity_of(str(tmp_path)) is not None
