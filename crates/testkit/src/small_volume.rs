//! A volume that a test can fill without harm: the test runs itself again on a small file system in memory, in a mount
//! namespace of its own.
//!
//! ```no_run
//! use vmafx_testkit::small_volume::SmallVolume;
//!
//! #[test]
//! fn a_full_volume_is_reported() {
//!     SmallVolume::run("a_full_volume_is_reported_there", 24);
//! }
//!
//! #[test]
//! #[ignore = "runs on a small volume, started by the test above"]
//! fn a_full_volume_is_reported_there() {
//!     let volume = SmallVolume::of_this_test();
//!     let ballast = volume.fill();
//!     drop(ballast);
//! }
//! ```

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Set for the test that runs on the volume.
const VARIABLE: &str = "VMAFX_TEST_SMALL_VOLUME";

#[derive(Debug)]
pub struct SmallVolume(PathBuf);

/// Takes all the room of a volume until it is dropped.
#[derive(Debug)]
pub struct Ballast(PathBuf);

impl SmallVolume {
    /// Runs the ignored test `test` of this program on a volume of this size. Panics if the test fails.
    #[expect(clippy::expect_used, reason = "the test cannot run")]
    pub fn run(test: &str, mebibytes: u32) {
        let directory = tempfile::tempdir().expect("a directory to mount the volume at");
        let program = std::env::current_exe().expect("the program of this test");
        // Root stays root, because servers change to another account; others become able to mount.
        let namespace: &[&str] = if rustix::process::geteuid().is_root() {
            &["--mount"]
        } else {
            &["--user", "--map-current-user", "--keep-caps", "--mount"]
        };
        let script = r#"mount -t tmpfs -o mode=0755,size="$3"m tmpfs "$1" && exec "$0" --exact "$2" --ignored --nocapture"#;
        let output = Command::new("unshare")
            .args(namespace)
            .args(["sh", "-c", script])
            .arg(program)
            .arg(directory.path())
            .args([test, &mebibytes.to_string()])
            .env(VARIABLE, directory.path())
            .output()
            .expect("unshare runs");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && out.contains("1 passed"), "{test} failed:\n{out}\n{err}");
    }

    /// The volume that this test runs on.
    #[expect(clippy::expect_used, reason = "a mistake of the test")]
    pub fn of_this_test() -> Self {
        Self(std::env::var_os(VARIABLE).map(PathBuf::from).expect("only SmallVolume::run runs this test"))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Takes all the room that is left.
    #[expect(clippy::expect_used, reason = "a mistake of the test")]
    pub fn fill(&self) -> Ballast {
        let path = self.0.join("ballast");
        let mut file = File::options().create(true).append(true).open(&path).expect("the volume is writable");
        for size in [64 << 10, 1 << 10, 1] {
            while file.write_all(&vec![1; size]).is_ok() {}
        }
        Ballast(path)
    }
}

impl Drop for Ballast {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
