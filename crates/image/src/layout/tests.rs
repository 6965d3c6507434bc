use std::collections::BTreeSet;

use super::*;

fn base() -> LayerTree {
    LayerTree::new().bytes("/etc/passwd", "root", 0o644).directory("/tmp", 0o1777)
}

fn config() -> ImageConfig {
    ImageConfig {
        created: "2026-01-02T03:04:05Z".into(),
        entrypoint: vec!["/usr/bin/tool".into()],
        user: "65532:65532".into(),
        tcp_ports: vec![8080, 9090],
        stop_signal: "SIGTERM".into(),
        ..ImageConfig::default()
    }
}

/// Two images on one base, and a document for the first.
fn write(root: &Path, compression: LayerCompression) -> (ImageLayout, Vec<Descriptor>) {
    let layout = ImageLayout::create(root).unwrap();
    let base = layout.layer(&base(), "base", compression).unwrap();
    let image = |content: &str| {
        let program = LayerTree::new().bytes("/usr/bin/tool", content.repeat(1000), 0o755);
        let program = layout.layer(&program, "program", compression).unwrap();
        layout.image(&config(), &[base.clone(), program]).unwrap()
    };
    let images = [image("one"), image("other")];
    let document = layout.attach(&images[0], "application/spdx+json", "one.spdx.json", b"{}").unwrap();
    let all: Vec<_> = images.into_iter().chain([document]).collect();
    layout.write_index(&all).unwrap();
    (layout, all)
}

fn blobs(layout: &ImageLayout) -> BTreeSet<String> {
    let entries = fs::read_dir(layout.root().join("blobs/sha256")).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn every_blob_has_the_digest_it_is_named_by() {
    let directory = tempfile::tempdir().unwrap();
    let (layout, _) = write(directory.path(), LayerCompression::Gzip);
    for name in blobs(&layout) {
        let digest = format!("sha256:{name}");
        assert_eq!(sha256(&fs::read(layout.path(&digest)).unwrap()), digest);
    }
    let left: BTreeSet<_> =
        fs::read_dir(layout.root()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, BTreeSet::from(["blobs", INDEX_FILE, LAYOUT_FILE].map(Into::into)));
}

#[test]
fn what_two_images_share_is_stored_once() {
    let directory = tempfile::tempdir().unwrap();
    let (layout, all) = write(directory.path(), LayerCompression::Gzip);
    let layers = |image: &Descriptor| layout.document(&image.digest).unwrap()["layers"].clone();
    assert_eq!(layers(&all[0])[0], layers(&all[1])[0]);
    // Base, two programs, two configs, two manifests; one empty config, which equals the document, and the manifest
    // that attaches it.
    assert_eq!(blobs(&layout).len(), 7 + 2);
}

#[test]
fn two_builds_have_the_same_digests() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for compression in [LayerCompression::None, LayerCompression::Gzip] {
        assert_eq!(write(one.path(), compression).1, write(other.path(), compression).1);
    }
    let index = |root: &tempfile::TempDir| fs::read(root.path().join(INDEX_FILE)).unwrap();
    assert_eq!(index(&one), index(&other));
}

#[test]
fn a_compressed_layer_is_the_same_tar_file_as_an_uncompressed_one() {
    let directory = tempfile::tempdir().unwrap();
    let layout = ImageLayout::create(directory.path()).unwrap();
    let plain = layout.layer(&base(), "base", LayerCompression::None).unwrap();
    let packed = layout.layer(&base(), "base", LayerCompression::Gzip).unwrap();
    assert_eq!((&plain.diff_id, plain.uncompressed_size), (&packed.diff_id, packed.uncompressed_size));
    assert_eq!((&plain.blob.digest, plain.blob.size), (&plain.diff_id, plain.uncompressed_size));
    assert!(packed.blob.size < packed.uncompressed_size);
    // The gzip header has no flags, no time and no system.
    let head = fs::read(layout.path(&packed.blob.digest)).unwrap();
    assert_eq!(head[..10], [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
}

#[test]
fn the_configuration_says_how_to_run_and_when_it_was_made() {
    let directory = tempfile::tempdir().unwrap();
    let (layout, all) = write(directory.path(), LayerCompression::Gzip);
    let manifest = layout.document(&all[0].digest).unwrap();
    let config = layout.document(manifest["config"]["digest"].as_str().unwrap()).unwrap();
    assert_eq!(config["created"], "2026-01-02T03:04:05Z");
    let expected = json!({
        "Entrypoint": ["/usr/bin/tool"], "Env": [], "Labels": {}, "User": "65532:65532",
        "StopSignal": "SIGTERM", "ExposedPorts": {"8080/tcp": {}, "9090/tcp": {}},
    });
    assert_eq!(config["config"], expected);
    assert_eq!(config["rootfs"]["diff_ids"].as_array().unwrap().len(), 2);
}

#[test]
fn a_document_names_the_image_it_is_about() {
    let directory = tempfile::tempdir().unwrap();
    let (layout, all) = write(directory.path(), LayerCompression::Gzip);
    let manifest = layout.document(&all[2].digest).unwrap();
    assert_eq!(manifest["subject"], json!(all[0].without_annotations()));
    assert_eq!(manifest["artifactType"], "application/spdx+json");
    assert_eq!(all[2].artifact_type.as_deref(), Some("application/spdx+json"));
}
