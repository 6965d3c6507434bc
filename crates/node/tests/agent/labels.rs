//! The labels of a node select the samples of its jobs.

use vmafx_proto::controller::v1::label_job_request::Target;
use vmafx_proto::controller::v1::{GroundTruth, LabelJobRequest, LabelScale, Sample, StreamSamplesRequest};

use crate::harness::Harness;

impl Harness {
    /// The samples of nodes that have these labels.
    async fn samples(&self, selector: &[(&str, &str)]) -> Vec<Sample> {
        let node_selector =
            selector.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let request = StreamSamplesRequest { node_selector, ..StreamSamplesRequest::default() };
        let mut stream = self.client.clone().stream_samples(request).await.unwrap().into_inner();
        let mut samples = Vec::new();
        while let Some(item) = stream.message().await.unwrap() {
            samples.extend(item.sample);
        }
        samples
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_labels_of_a_node_select_what_it_scored() {
    let harness = Harness::start().await;
    let _node = harness.node("node-0", &["--labels", "gpu.vendor=nvidia,rack=7"]);
    let job = harness.submit("ref.yuv", "dis.yuv").await;
    let features = harness.ended(&job).await.features;
    let label = LabelJobRequest {
        target: Some(Target::JobId(job.clone())),
        ground_truth: Some(GroundTruth { value: 4.0, scale: LabelScale::Mos.into() }),
    };
    assert!(harness.client.clone().label_job(label).await.unwrap().into_inner().sampled);

    let all = harness.samples(&[]).await;
    let labelled_by = all[0].labelled_by.clone();
    assert!(!labelled_by.is_empty());
    assert_eq!(all, [Sample { job_id: job, features, ground_truth: 75.0, labelled_by }]);
    let nvidia = ("gpu.vendor", "nvidia");
    for matching in [&[nvidia][..], &[nvidia, ("rack", "7")]] {
        assert_eq!(harness.samples(matching).await, all, "{matching:?}");
    }
    for other in [&[nvidia, ("rack", "8")][..], &[("zone", "7")]] {
        assert_eq!(harness.samples(other).await, [], "{other:?}");
    }
}
