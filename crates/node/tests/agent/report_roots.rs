//! Reports that would replace or join the files of others.

use std::fs;
use std::os::unix::fs::symlink;

use tonic::Code;
use vmafx_proto::controller::v1::{JobStatus, ScoringParams};

use crate::harness::{Harness, params};

/// The clips of two teams below one root, and a directory for reports.
struct SharedMedia {
    media: tempfile::TempDir,
}

impl SharedMedia {
    fn new() -> Self {
        let media = tempfile::tempdir().unwrap();
        for directory in ["masters/b", "reports/a"] {
            fs::create_dir_all(media.path().join(directory)).unwrap();
        }
        fs::write(media.path().join("masters/b/master.json"), "of team b").unwrap();
        symlink(media.path().join("masters/b"), media.path().join("reports/a/link")).unwrap();
        Self { media }
    }

    fn path(&self, name: &str) -> String {
        self.media.path().join(name).display().to_string()
    }

    fn master(&self) -> String {
        fs::read_to_string(self.path("masters/b/master.json")).unwrap()
    }

    /// A job that overwrites what is at its report's address.
    fn job(&self, harness: &Harness, report: &str) -> ScoringParams {
        let clip = |name: &str| harness.clip(name).display().to_string();
        ScoringParams {
            report_uri: self.path(report),
            overwrite_report: true,
            ..params(Some((160, 90)), &clip("ref.yuv"), &clip("dis.yuv"))
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn with_report_roots_a_report_replaces_nothing_among_the_masters() {
    let shared = SharedMedia::new();
    let (masters, reports) = (shared.path("masters"), shared.path("reports"));
    let harness = Harness::with_controller(&[&masters], &[("VMAFX_REPORT_ROOTS", &reports)]).await;
    let _node = harness.node("node-0", &[]);

    for place in ["masters/b/master.json", "masters/b/new.json"] {
        let refused = harness.submit_params(shared.job(&harness, place)).await.unwrap_err();
        assert_eq!(refused.code(), Code::PermissionDenied);
        assert!(refused.message().contains("report_uri: "), "{}", refused.message());
        assert!(refused.message().contains("VMAFX_REPORT_ROOTS"), "{}", refused.message());
    }
    // The controller knows the text of an address only, and the node what it leads to.
    let job = harness.submit_params(shared.job(&harness, "reports/a/link/master.json")).await.unwrap();
    let job = harness.ended(&job).await;
    assert_eq!(job.status(), JobStatus::Failed, "{}", shared.master());
    assert_eq!(shared.master(), "of team b");
    assert_eq!(fs::read_dir(shared.path("masters/b")).unwrap().count(), 1);

    let job = harness.submit_params(shared.job(&harness, "reports/a/r.json")).await.unwrap();
    let job = harness.ended(&job).await;
    assert_eq!((job.status(), job.error.as_str()), (JobStatus::Completed, ""));
    assert!(fs::read_to_string(shared.path("reports/a/r.json")).unwrap().contains("vmaf"));
}

/// What the setting is for.
#[tokio::test(flavor = "multi_thread")]
async fn without_report_roots_a_report_is_written_wherever_clips_may_be() {
    let shared = SharedMedia::new();
    let harness = Harness::with_roots(&[&shared.path("masters")]).await;
    let _node = harness.node("node-0", &[]);
    let job = harness.submit_params(shared.job(&harness, "masters/b/master.json")).await.unwrap();
    assert_eq!(harness.ended(&job).await.status(), JobStatus::Completed);
    assert_ne!(shared.master(), "of team b");
}
