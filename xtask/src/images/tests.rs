use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use rstest::rstest;
use serde_json::Value;
use vmafx_image::unpack::unpack;

use super::write::{WrittenImage, archive_of, layout_of, sbom_of};
use super::*;

fn info() -> BuildInfo {
    BuildInfo {
        version: "0.1.0".into(),
        tag: "v0.1.0".into(),
        revision: Some("c0ffee".into()),
        source: Some("https://source.example/vmafx".into()),
        created: "2026-01-02T03:04:05Z".into(),
    }
}

/// An image of `/usr/bin/id`, which every machine has, under the operator's name.
pub(super) fn operator(directory: &Path, name: &str) -> (PathBuf, WrittenImage) {
    let programs = directory.join("programs");
    fs::create_dir_all(&programs).unwrap();
    fs::copy("/usr/bin/id", programs.join("vmafx-operator")).unwrap();
    let output = directory.join(name);
    let products = chosen(&["vmafx-operator".to_owned()]).unwrap();
    let mut made =
        write::all(&products, &programs, &info(), "localhost", LayerCompression::Gzip, &output).unwrap();
    (output, made.remove(0))
}

fn config(made: &WrittenImage) -> Value {
    let manifest = made.layout.document(&made.manifest.digest).unwrap();
    made.layout.document(manifest["config"]["digest"].as_str().unwrap()).unwrap()
}

/// Only root may change its root directory; otherwise the skipped part is reported.
fn can_change_root() -> bool {
    let can = rustix::process::geteuid().is_root();
    if !can {
        vmafx_testkit::prerequisite::skip(
            "only root can mount and change its root directory, so no program was run in its image",
        );
    }
    can
}

fn unpacked(made: &WrittenImage, directory: &Path) -> PathBuf {
    let root = directory.join(format!("{}-root", made.product.program));
    fs::create_dir(&root).unwrap();
    unpack(&made.layout, &made.manifest, &root).unwrap();
    root
}

/// A container without a runtime: the image's files, read-only except for `/tmp`, with `/dev` and `/proc` of this machine.
const CONTAINER: &str = r#"
    set -e
    mount --bind "$0" "$0"
    mount --bind "$0-tmp" "$0/tmp"
    mount --bind /dev "$0/dev"
    mount --bind /proc "$0/proc"
    mount --options remount,bind,ro "$0"
    exec chroot --userspec=65532:65532 --groups= "$0" "$@"
"#;

/// Output of a program that runs in an image, as the image's user.
fn run(root: &Path, args: &[&str]) -> String {
    for mount_point in ["dev", "proc"] {
        fs::create_dir_all(root.join(mount_point)).unwrap();
    }
    let tmp = PathBuf::from(format!("{}-tmp", root.display()));
    fs::create_dir_all(&tmp).unwrap();
    fs::set_permissions(&tmp, fs::Permissions::from_mode(0o1777)).unwrap();
    let mut command = Command::new("unshare");
    command.args(["--mount", "--", "/bin/sh", "-c", CONTAINER]).arg(root).args(args);
    let output = command.env_clear().env("PATH", "/usr/bin:/usr/sbin:/bin:/sbin").output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{args:?}: {stdout}{}", String::from_utf8_lossy(&output.stderr));
    stdout
}

#[test]
fn two_builds_of_one_input_are_the_same_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let (one, made) = operator(directory.path(), "one");
    let (other, _) = operator(directory.path(), "other");
    let index = |output: &Path| layout_of(output).join("index.json");
    for (a, b) in [
        (index(&one), index(&other)),
        (archive_of(&one, made.product), archive_of(&other, made.product)),
        (sbom_of(&one, made.product), sbom_of(&other, made.product)),
    ] {
        assert!(fs::read(&a).unwrap() == fs::read(&b).unwrap(), "{} differs", a.display());
    }
}

#[test]
fn an_image_says_what_it_is_and_does_not_run_as_root() {
    let directory = tempfile::tempdir().unwrap();
    let (_, made) = operator(directory.path(), "images");
    assert_eq!(made.name, "localhost/vmafx-operator:v0.1.0");
    let config = config(&made);
    let run = &config["config"];
    assert_eq!(run["User"], "65532:65532");
    assert_eq!(run["Entrypoint"], serde_json::json!(["/usr/bin/vmafx-operator"]));
    assert_eq!(run["StopSignal"], "SIGTERM");
    assert!(run["ExposedPorts"]["8082/tcp"].is_object());
    for (key, value) in [
        ("title", "VMAFX operator"),
        ("version", "0.1.0"),
        ("revision", "c0ffee"),
        ("source", "https://source.example/vmafx"),
        ("licenses", "Apache-2.0"),
        ("created", "2026-01-02T03:04:05Z"),
    ] {
        assert_eq!(run["Labels"][format!("org.opencontainers.image.{key}")], value);
    }
}

#[test]
fn the_bill_of_materials_is_attached_and_names_libraries_and_crates() {
    let directory = tempfile::tempdir().unwrap();
    let (output, made) = operator(directory.path(), "images");
    let attached = made.layout.document(&made.sbom.digest).unwrap();
    assert_eq!(attached["subject"]["digest"], made.manifest.digest);
    let blob = made.layout.path(attached["layers"][0]["digest"].as_str().unwrap());
    let text = fs::read(sbom_of(&output, made.product)).unwrap();
    assert!(fs::read(blob).unwrap() == text);
    let document: Value = serde_json::from_slice(&text).unwrap();
    let packages = document["packages"].as_array().unwrap();
    for name in ["libc6", "ca-certificates", "kube", "vmafx-operator"] {
        assert!(packages.iter().any(|package| package["name"] == name), "{name} is missing");
    }
}

#[test]
fn an_image_has_no_shell_and_trusts_only_what_debian_trusts() {
    let directory = tempfile::tempdir().unwrap();
    let (_, made) = operator(directory.path(), "images");
    let root = unpacked(&made, directory.path());
    for absent in ["bin/sh", "usr/bin/sh", "usr/bin/dpkg", "usr/local"] {
        assert!(!root.join(absent).exists(), "{absent} is there");
    }
    let bundle = fs::read_to_string(root.join("etc/ssl/certs/ca-certificates.crt")).unwrap();
    let authorities = |text: &str| text.matches("-----BEGIN CERTIFICATE-----").count();
    let from_mozilla = fs::read_dir("/usr/share/ca-certificates/mozilla").unwrap().count();
    assert_eq!(authorities(&bundle), from_mozilla);
    assert!(root.join("var/lib/dpkg/status.d/libc6").exists());
    assert!(root.join("usr/share/doc/libc6/copyright").exists());
}

#[test]
fn a_program_finds_its_libraries_and_its_user_in_the_image() {
    if !can_change_root() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let (_, made) = operator(directory.path(), "images");
    let root = unpacked(&made, directory.path());
    let output = run(&root, &["/usr/bin/vmafx-operator"]);
    assert!(output.starts_with("uid=65532(nonroot) gid=65532(nonroot)"), "{output}");
}

#[test]
fn an_image_that_is_too_large_is_an_error() {
    static TINY: Product = Product { max_size: Some(1), ..PRODUCTS[0] };
    let directory = tempfile::tempdir().unwrap();
    let (_, made) = operator(directory.path(), "images");
    report::check_size(&made).unwrap();
    let error = report::check_size(&WrittenImage { product: &TINY, ..made }).unwrap_err().to_string();
    assert!(error.starts_with("the image of vmafx-operator has "), "{error}");
}

#[test]
fn a_directory_with_other_files_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("notes"), "text").unwrap();
    let error =
        write::all(&[], directory.path(), &info(), "localhost", LayerCompression::None, directory.path())
            .unwrap_err();
    assert!(error.to_string().contains("choose another directory"), "{error}");
    assert!(directory.path().join("notes").exists());
}

#[rstest]
#[case(&[], 4)]
#[case(&["vmafx-node"], 1)]
#[case(&["vmafx-node", "vmafx-trainer"], 2)]
fn images_are_chosen_by_name(#[case] only: &[&str], #[case] count: usize) {
    let only: Vec<_> = only.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(chosen(&only).unwrap().len(), count);
}

#[test]
fn an_unknown_name_is_rejected_with_the_known_ones() {
    let error = chosen(&["vmafx".to_owned()]).unwrap_err().to_string();
    assert!(error.starts_with("there is no image vmafx; the images are vmafx-operator, "), "{error}");
}

#[test]
#[ignore = "needs all programs and the node's tools: `make e2e` runs it"]
fn every_daemon_runs_in_its_image_and_the_node_has_its_tools() {
    let directory = tempfile::tempdir().unwrap();
    let programs = workspace::target().join("debug");
    let write = |only: &[String], name: &str| {
        let output = directory.path().join(name);
        write::all(&chosen(only).unwrap(), &programs, &info(), "localhost", LayerCompression::None, &output)
            .unwrap()
    };
    let made = write(&[], "all");
    // Other images that are built in the same run do not influence an image.
    let again = write(&["vmafx-node".to_owned()], "node");
    let node = made.iter().find(|one| one.product.program == "vmafx-node").unwrap();
    assert_eq!(node.manifest, again[0].manifest);
    let bases: std::collections::BTreeSet<_> = made.iter().map(|one| &one.layers[0].blob.digest).collect();
    assert_eq!(bases.len(), 1, "the base is stored once");
    if !can_change_root() {
        return;
    }
    for one in &made {
        let root = unpacked(one, directory.path());
        let program = one.product.program;
        let output = run(&root, &[&format!("/usr/bin/{program}"), "--version"]);
        assert_eq!(output.trim(), format!("{program} 0.1.0"));
        if program == "vmafx-node" {
            assert!(run(&root, &["/usr/bin/ffmpeg", "-version"]).starts_with("ffmpeg version "));
            assert!(run(&root, &["/usr/bin/rclone", "version"]).starts_with("rclone v"));
            let clip =
                ["-f", "lavfi", "-i", "testsrc2=duration=1:size=64x64", "-c:v", "libx264", "/tmp/a.mp4"];
            run(&root, &[&["/usr/bin/ffmpeg", "-v", "error"][..], &clip].concat());
            let frames =
                run(&root, &["/usr/bin/ffmpeg", "-v", "error", "-i", "/tmp/a.mp4", "-f", "md5", "-"]);
            assert!(frames.starts_with("MD5="), "{frames}");
        }
        // All images together would need gigabytes.
        fs::remove_dir_all(&root).unwrap();
    }
}
