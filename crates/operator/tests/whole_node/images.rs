//! What runs in the Pods: the programs as they were built beside this test, and clips.

use std::path::{Path, PathBuf};

use vmafx_testkit::kube::assets::{Binary, ensure};
use vmafx_testkit::kube::image::Image;

use crate::clips;

/// Operator, controller and node, with clips below `/media`.
pub(crate) const IMAGE: &str = "localhost/vmafx:e2e";

/// The trainer; and a registry, which is no part of the project.
pub(crate) const TRAINER: &str = "localhost/vmafx-trainer:e2e";

/// How often the clip that takes its time repeats the other.
const LONG: usize = 60;

/// Pairs of clips of which each is another one: `/media/PAIR/ref-R.yuv` and `/media/PAIR/dis-N.yuv`.
pub(crate) const PAIRS: usize = 200;

/// A program that was built beside this test's own.
pub(crate) fn program(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_BIN_EXE_vmafx-operator")).with_file_name(name);
    assert!(path.exists(), "{} is not there: run `make e2e`", path.display());
    path
}

/// A clip that scores in moments.
pub(crate) fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scoring/tests/data").join(name).canonicalize().unwrap()
}

/// The clips of a pair, in the image.
pub(crate) fn pair(number: usize) -> [String; 2] {
    let reference = format!("/media/pairs/ref-{}.yuv", number % clips::REFERENCES);
    [reference, format!("/media/pairs/dis-{number}.yuv")]
}

/// Writes [`IMAGE`].
pub(crate) fn scoring(target: &Path) {
    let whole = std::fs::read(golden("ref_160x90.yuv")).unwrap();
    let mut image = bare(IMAGE, "/bin/vmafx-node").bytes("/media/long.yuv", whole.repeat(LONG), 0o644);
    for clip in ["ref_160x90.yuv", "dis_160x90.yuv"] {
        image = image.file(format!("/media/{clip}"), golden(clip), 0o644);
    }
    let references: Vec<_> = (0..clips::REFERENCES).map(|number| clips::reference(&whole, number)).collect();
    for number in 0..PAIRS {
        let [reference, distorted] = pair(number);
        let original = &references[number % clips::REFERENCES];
        image = image.bytes(reference, original.clone(), 0o644);
        image = image.bytes(distorted, clips::distorted(original, number / clips::REFERENCES), 0o644);
    }
    for name in ["vmafx-operator", "vmafx-controller", "vmafx-node"] {
        image = with(image, name);
    }
    image.write(target).unwrap();
}

/// Writes [`TRAINER`].
pub(crate) fn trainer(target: &Path) {
    let registry = ensure(&[Binary::Registry]).unwrap().path(Binary::Registry).to_owned();
    // JSON is YAML.
    let config = serde_json::json!({
        "version": "0.1",
        "log": { "level": "warn" },
        "storage": { "inmemory": {} },
        "http": { "addr": ":5000" },
    });
    let image = bare(TRAINER, "/bin/vmafx-trainer").file("/bin/registry", registry, 0o755).bytes(
        "/etc/registry.yml",
        config.to_string(),
        0o644,
    );
    with(image, "vmafx-trainer").write(target).unwrap();
}

fn bare(name: &str, entrypoint: &str) -> Image {
    Image::new(name).directory("/tmp", 0o1777).user("65532:65532").entrypoint([entrypoint])
}

/// With a program and the libraries that it is linked with.
fn with(image: Image, name: &str) -> Image {
    image.program(format!("/bin/{name}"), program(name)).unwrap()
}
