//! The labels of a node, on their way to what is learned.

use vmafx_proto::controller::v1::label_job_request::Target;
use vmafx_proto::controller::v1::{GroundTruth, LabelJobRequest, LabelScale, Sample, StreamSamplesRequest};

use crate::stage::Stage;

impl Stage {
    /// The samples of nodes with these labels.
    async fn samples(&self, selector: &[(&str, &str)]) -> Vec<Sample> {
        let node_selector =
            selector.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let asked = StreamSamplesRequest { node_selector, ..StreamSamplesRequest::default() };
        let mut stream = self.client.clone().stream_samples(asked).await.unwrap().into_inner();
        let mut samples = Vec::new();
        while let Some(item) = stream.message().await.unwrap() {
            samples.extend(item.sample);
        }
        samples
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_node_is_labelled_with_selects_what_it_scored() {
    let stage = Stage::set().await;
    let _node = stage.node("node-0", &["--labels", "gpu.vendor=nvidia,rack=7"]);
    let job = stage.submit("ref.yuv", "dis.yuv").await;
    let features = stage.ended(&job).await.features;
    let label = LabelJobRequest {
        target: Some(Target::JobId(job.clone())),
        ground_truth: Some(GroundTruth { value: 4.0, scale: LabelScale::Mos.into() }),
    };
    assert!(stage.client.clone().label_job(label).await.unwrap().into_inner().sampled);

    let all = stage.samples(&[]).await;
    assert_eq!(all, [Sample { job_id: job, features, ground_truth: 75.0 }]);
    let nvidia = ("gpu.vendor", "nvidia");
    for fitting in [&[nvidia][..], &[nvidia, ("rack", "7")]] {
        assert_eq!(stage.samples(fitting).await, all, "{fitting:?}");
    }
    for other in [&[nvidia, ("rack", "8")][..], &[("zone", "7")]] {
        assert_eq!(stage.samples(other).await, [], "{other:?}");
    }
}
