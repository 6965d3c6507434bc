use super::*;

fn written(tree: &LayerTree) -> Vec<u8> {
    tree.write(Vec::new()).unwrap()
}

#[test]
fn order_and_age_of_the_files_do_not_change_the_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let (young, old) = (directory.path().join("young"), directory.path().join("old"));
    fs::write(&young, "content").unwrap();
    fs::write(&old, "content").unwrap();
    let past = fs::FileTimes::new().set_modified(std::time::UNIX_EPOCH);
    File::options().write(true).open(&old).unwrap().set_times(past).unwrap();
    let one = LayerTree::new().file("/b/file", young, 0o644).directory("/a", 0o755).symlink("/c", "b");
    let other = LayerTree::new().symlink("/c", "b").directory("/a", 0o755).file("/b/file", old, 0o644);
    assert_eq!(written(&one), written(&other));
}

#[test]
fn everything_belongs_to_root_and_has_no_date() {
    let bytes = written(&LayerTree::new().bytes("/usr/bin/tool", "#!", 0o755).directory("/tmp", 0o1777));
    let mut archive = tar::Archive::new(bytes.as_slice());
    for entry in archive.entries().unwrap() {
        let entry = entry.unwrap();
        let header = entry.header();
        assert_eq!((header.uid().unwrap(), header.gid().unwrap(), header.mtime().unwrap()), (0, 0, 0));
    }
}

#[test]
fn an_entry_of_a_lower_layer_is_not_stored_again_unless_it_differs() {
    let lower = LayerTree::new().bytes("/etc/passwd", "root", 0o644).bytes("/etc/group", "root", 0o644);
    let upper = LayerTree::new().bytes("/etc/passwd", "root", 0o644).bytes("/etc/group", "other", 0o644);
    assert_eq!(
        upper.without(&lower),
        LayerTree(BTreeMap::from([(
            PathBuf::from("etc/group"),
            TreeEntry::Bytes { content: b"other".to_vec(), mode: 0o644 },
        )]))
    );
}
