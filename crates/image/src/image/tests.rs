use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::process::Command;

use serde_json::{Value, json};

use super::*;
use crate::hash::sha256;
use crate::layout::blob_name;

fn example() -> Image {
    Image::new("localhost/example:7")
        .bytes("/usr/bin/tool", "#!", 0o755)
        .symlink("/bin", "usr/bin")
        .directory("/tmp", 0o1777)
        .entrypoint(["/usr/bin/tool", "--serve"])
        .env("MODE", "test")
        .user("65532:65532")
}

fn members(tar: impl Read) -> BTreeMap<String, Vec<u8>> {
    let mut archive = tar::Archive::new(tar);
    let entries = archive.entries().unwrap();
    let member = |entry: io::Result<tar::Entry<'_, _>>| {
        let mut entry = entry.unwrap();
        let mut content = Vec::new();
        io::copy(&mut entry, &mut content).unwrap();
        (entry.path().unwrap().display().to_string(), content)
    };
    entries.map(member).collect()
}

/// Follows and verifies the digests from the index down, as a runtime does.
fn open(path: &Path) -> (Value, Value, BTreeMap<String, Vec<u8>>) {
    let files = members(File::open(path).unwrap());
    let blob = |descriptor: &Value| {
        let digest = descriptor["digest"].as_str().unwrap();
        let bytes = &files[&blob_name(digest).display().to_string()];
        assert_eq!(sha256(bytes), digest);
        assert_eq!(descriptor["size"], bytes.len());
        bytes.clone()
    };
    let index: Value = serde_json::from_slice(&files["index.json"]).unwrap();
    let manifest: Value = serde_json::from_slice(&blob(&index["manifests"][0])).unwrap();
    let config = serde_json::from_slice(&blob(&manifest["config"])).unwrap();
    (index, config, members(blob(&manifest["layers"][0]).as_slice()))
}

#[test]
fn every_digest_from_the_index_down_to_a_file_is_right() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("image.tar");
    let digest = example().write(&path).unwrap();
    let (index, config, layer) = open(&path);
    assert_eq!(index["manifests"][0]["digest"], digest);
    assert_eq!(index["manifests"][0]["annotations"]["io.containerd.image.name"], "localhost/example:7");
    let expected = json!({"Entrypoint": ["/usr/bin/tool", "--serve"], "Env": ["MODE=test"], "Labels": {}, "User": "65532:65532"});
    assert_eq!(config["config"], expected);
    let names: Vec<_> = layer.keys().map(|name| name.trim_end_matches('/')).collect();
    assert_eq!(names, ["bin", "tmp", "usr", "usr/bin", "usr/bin/tool"]);
    assert_eq!(layer["usr/bin/tool"], b"#!");
}

#[test]
fn the_same_input_in_another_order_gives_the_same_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let (one, other) = (directory.path().join("one"), directory.path().join("other"));
    let source = directory.path().join("source");
    fs::write(&source, "#!").unwrap();
    example().write(&one).unwrap();
    let reordered = Image::new("localhost/example:7")
        .user("65532:65532")
        .directory("/tmp", 0o1777)
        .symlink("bin", "usr/bin")
        .file("usr/bin/tool", &source, 0o755)
        .env("MODE", "test")
        .entrypoint(["/usr/bin/tool", "--serve"]);
    reordered.write(&other).unwrap();
    assert_eq!(fs::read(one).unwrap(), fs::read(other).unwrap());
}

#[test]
fn a_missing_input_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let image = Image::new("localhost/example:7").file("/tool", directory.path().join("none"), 0o755);
    let error = image.write(&directory.path().join("image.tar")).unwrap_err();
    assert_eq!(error.to_string(), "cannot add tool to the image");
}

#[test]
fn docker_finds_the_same_blobs() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("image.tar");
    example().write(&path).unwrap();
    let files = members(File::open(&path).unwrap());
    let listed: Value = serde_json::from_slice(&files["manifest.json"]).unwrap();
    assert_eq!(listed[0]["RepoTags"], json!(["localhost/example:7"]));
    for blob in [&listed[0]["Config"], &listed[0]["Layers"][0]] {
        assert!(files.contains_key(blob.as_str().unwrap()), "{blob}");
    }
}

/// Whether `chroot` is permitted; prints what is skipped otherwise, and fails in CI, where nothing must be skipped.
fn can_chroot() -> bool {
    let can = rustix::process::geteuid().is_root();
    if !can {
        assert!(std::env::var_os("CI").is_none(), "CI must run this test as root");
        eprintln!("skipped: only root can chroot, so the program was not run in its image");
    }
    can
}

#[test]
fn a_program_runs_with_what_its_image_has_and_nothing_else() {
    if !can_chroot() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let image = Image::new("localhost/example:7").program("/test", std::env::current_exe().unwrap()).unwrap();
    let layout = ImageLayout::create(directory.path().join("layout")).unwrap();
    let layer = layout.layer(&image.tree, "test", LayerCompression::Gzip).unwrap();
    let written = layout.image(&image.config, &[layer]).unwrap();
    let root = directory.path().join("root");
    fs::create_dir(&root).unwrap();
    crate::unpack::unpack(&layout, &written, &root).unwrap();
    let output = Command::new("chroot")
        .args(["--userspec=65532:65532"])
        .arg(&root)
        .args(["/test", "--list"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("a_program_runs_with_what"));
}
