//! A node without its media directory beside healthy ones: it fails jobs faster than they score them, and takes the queue
//! with it unless it is stopped.
//!
//! The clips are below `/proc/self/cwd/media`, which is another directory in each process: a node whose working directory
//! has no `media` sees what a node with an unmounted volume sees.

use std::path::{Path, PathBuf};
use std::time::Duration;

use vmafx_proto::controller::v1::{JobStatus, ListNodesRequest, Node};
use vmafx_testkit::wait;

use crate::harness::{Harness, Node as NodeProcess, params};

const MEDIA: &str = "/proc/self/cwd/media";

/// Scoring hundreds of clips takes a while on a busy machine.
const TIMEOUT: Duration = Duration::from_mins(5);

struct Pool {
    harness: Harness,
    directory: tempfile::TempDir,
    nodes: Vec<NodeProcess>,
}

impl Pool {
    async fn start(healthy: usize) -> Self {
        let harness = Harness::with_roots(&[MEDIA]).await;
        let directory = tempfile::tempdir().unwrap();
        let media = directory.path().join("mounted/media");
        std::fs::create_dir_all(&media).unwrap();
        std::fs::create_dir(directory.path().join("unmounted")).unwrap();
        for name in ["ref.yuv", "dis.yuv"] {
            // A few frames are enough: it is the number of jobs that matters.
            let frames = std::fs::read(harness.clip(name)).unwrap();
            std::fs::write(media.join(name), &frames[..3 * 160 * 90 * 3 / 2]).unwrap();
        }
        let mut pool = Self { harness, directory, nodes: vec![] };
        // The broken node comes first, so that it is not late for its share of the jobs.
        pool.node("broken", "unmounted");
        for number in 0..healthy {
            pool.node(&format!("healthy-{number}"), "mounted");
        }
        pool.until_connected(healthy + 1).await;
        pool
    }

    fn node(&mut self, name: &str, directory: &str) {
        let directory: PathBuf = self.directory.path().join(directory);
        self.nodes.push(self.harness.node_in(&directory, name, &["--slots=2"]));
    }

    async fn listed(&self) -> Vec<Node> {
        let request = ListNodesRequest::default();
        self.harness.client.clone().list_nodes(request).await.unwrap().into_inner().nodes
    }

    async fn until_connected(&self, count: usize) {
        let connected = async || self.listed().await.len() == count;
        wait::until(TIMEOUT, "the nodes", connected).await.unwrap();
    }

    /// Submits jobs and checks that each of them gets a score.
    async fn scores_all(&self, count: usize) {
        let path = |name: &str| Path::new(MEDIA).join(name).display().to_string();
        let scoring = params(Some((160, 90)), &path("ref.yuv"), &path("dis.yuv"));
        let mut jobs = Vec::new();
        for _ in 0..count {
            jobs.push(self.harness.submit_params(scoring.clone()).await.unwrap());
        }
        let ended = |status| !matches!(status, JobStatus::Pending | JobStatus::Running);
        for job in &jobs {
            let job = self.harness.until_within(TIMEOUT, job, |job| ended(job.status())).await.unwrap();
            assert_eq!(job.status(), JobStatus::Completed, "attempt {}: {}", job.attempt, job.error);
            assert_ne!(job.assigned_node, "broken");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_without_its_media_directory_costs_no_job() {
    let pool = Pool::start(1).await;
    pool.scores_all(60).await;
    let nodes = pool.listed().await;
    let quarantine = nodes.iter().find(|node| node.name == "broken").unwrap().quarantine.clone().unwrap();
    assert!(quarantine.failures >= 3, "{quarantine:?}");
    assert!(quarantine.message.contains("there is no such file"), "{quarantine:?}");
    assert!(nodes.iter().filter(|node| node.name != "broken").all(|node| node.quarantine.is_none()));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_broken_node_of_three_costs_none_of_two_hundred_jobs() {
    let pool = Pool::start(2).await;
    pool.scores_all(200).await;
}
