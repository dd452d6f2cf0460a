"""Which file system a path is on."""

from coldsoak.machine.mounts import file_system, mounts


def test_the_longest_mount_is_the_file_system(tmp_path):
    mounted = [("/", "overlay"), (str(tmp_path), "nfs"), (str(tmp_path) + "x", "tmpfs")]
    assert file_system(str(tmp_path / "a"), mounted) == "nfs"
    assert file_system(str(tmp_path), mounted) == "nfs"
    assert file_system("/usr", mounted) == "overlay"
    assert file_system("/usr", []) == ""


def test_of_two_mounts_on_one_place_the_last_is_seen(tmp_path):
    mounted = [("/", "rootfs"), ("/", "ext4"), (str(tmp_path), "tmpfs"), (str(tmp_path), "nfs4")]
    assert file_system("/usr", mounted) == "ext4"
    assert file_system(str(tmp_path / "a"), mounted) == "nfs4"


def test_the_table_is_read_with_its_escapes(tmp_path):
    table = tmp_path / "proc" / "self" / "mounts"
    table.parent.mkdir(parents=True)
    table.write_text("overlay / overlay rw 0 0\nsrv:/a /my\\040disk nfs4 rw 0 0\nhalf a\n")
    assert mounts(tmp_path) == [("/", "overlay"), ("/my disk", "nfs4")]
    assert file_system("/my disk/cache", mounts(tmp_path)) == "nfs4"
    assert mounts(tmp_path / "nowhere") == []


def test_this_machine_has_a_root():
    assert file_system("/", mounts())
