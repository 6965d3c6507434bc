//! Follows the controller's stream, and recovers its position if the controller rejects the cursor.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBuilder};
use futures::{Stream, StreamExt as _};
use tokio::sync::{mpsc, oneshot};
use tonic::{Status, Streaming};
use vmafx_kit::channel::{GrpcChannel, streaming};
use vmafx_kit::health::ReadinessGate;
use vmafx_kit::tasks::{BoxError, Shutdown};
use vmafx_proto::controller::v1 as wire;
use vmafx_proto::controller::v1::vmafx_controller_client::VmafxControllerClient;

use super::error::SourceError;
use super::fingerprints::{Fingerprints, fingerprint};
use crate::learner::Sample;
use crate::status::{SharedStatus, TrainerMetrics};

/// The controller sends an item at least every 15 s.
const IDLE_TIMEOUT: Duration = Duration::from_secs(45);

const MAX_RETRY_DELAY: Duration = Duration::from_secs(30);

/// How far the stream has been read.
#[derive(Clone, Debug, Default)]
pub struct StreamPosition {
    /// The cursor of the last item; empty means the oldest stored sample.
    pub cursor: String,
    pub fingerprints: Fingerprints,
}

impl StreamPosition {
    /// Moves behind an item. Returns its sample, unless that was already learned.
    pub fn advance(&mut self, item: StreamItem) -> Option<Sample> {
        if item.begins_again {
            self.fingerprints.expect_all_again();
        }
        self.cursor = item.cursor;
        let new = item.sample.filter(|sample| !self.fingerprints.is_read_again(sample));
        new.inspect(|sample| self.fingerprints.add(sample))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct StreamItem {
    /// Continues after this item.
    pub cursor: String,
    /// `None` if there is no sample up to the cursor.
    pub sample: Option<Sample>,
    /// Whether this is the first item after the controller rejected a cursor: samples that were learned follow again.
    pub begins_again: bool,
}

/// Reads samples until the process shuts down.
pub struct SampleFollower {
    pub channel: GrpcChannel,
    /// Labels of the nodes whose samples are requested.
    pub selector: BTreeMap<String, String>,
    /// Readiness gate that is open while the stream is connected.
    pub connected: ReadinessGate,
    pub status: SharedStatus,
    pub metrics: TrainerMetrics,
}

impl SampleFollower {
    /// Waits for the position, then forwards every item. The bounded channel limits the stream to the learner's pace.
    pub async fn run(
        self,
        start: oneshot::Receiver<StreamPosition>,
        items: mpsc::Sender<StreamItem>,
        shutdown: Shutdown,
    ) -> Result<(), BoxError> {
        // The sender is dropped without a position if the process shuts down before training starts.
        let Some(Ok(position)) = shutdown.run_until_begun(start).await else { return Ok(()) };
        shutdown.run_until_begun(self.follow(position, &items)).await;
        self.metrics.disconnected();
        Ok(())
    }

    async fn follow(&self, mut position: StreamPosition, items: &mpsc::Sender<StreamItem>) {
        let mut delays = retry_delays();
        let mut begins_again = false;
        loop {
            let before = position.cursor.clone();
            let error = match self.read(&mut position, &mut begins_again, items).await {
                Ok(()) => return,
                Err(error) => error,
            };
            if position.cursor != before {
                delays = retry_delays();
            }
            self.report_disconnected(&error);
            if error.is_cursor_out_of_range() {
                match self.recover_position(&mut position).await {
                    Ok(()) => begins_again = true,
                    Err(error) => self.report_disconnected(&error),
                }
            }
            tokio::time::sleep(delays.next().unwrap_or(MAX_RETRY_DELAY)).await;
        }
    }

    /// Reads until the stream fails; `Ok` when the receiver of the items is gone.
    async fn read(
        &self,
        position: &mut StreamPosition,
        begins_again: &mut bool,
        items: &mpsc::Sender<StreamItem>,
    ) -> Result<(), SourceError> {
        let mut stream = self.open(&position.cursor, true).await?;
        tracing::info!(cursor = position.cursor, "reading samples");
        loop {
            let mut item = next(&mut stream).await?.ok_or(SourceError::Closed)?;
            self.report_connected();
            item.begins_again = std::mem::take(begins_again);
            position.advance(item.clone());
            // Waits while the learner is behind; flow control then makes the controller wait.
            if items.send(item).await.is_err() {
                return Ok(());
            }
        }
    }

    /// Replaces a cursor that the controller rejected.
    async fn recover_position(&self, position: &mut StreamPosition) -> Result<(), SourceError> {
        let recovered = if position.fingerprints.is_full() {
            let mut stream = self.open("", false).await?;
            cursor_before_first_known(&mut stream, &position.fingerprints.to_set()).await?
        } else {
            None
        };
        let resumed = if recovered.is_some() {
            "reading resumed at the first sample that is known to be learned, and those are skipped"
        } else {
            "reading resumed at the oldest sample, and those that were already learned are skipped"
        };
        let notice = format!("the controller rejected the trainer's cursor; {resumed}");
        tracing::warn!(rejected = position.cursor, recovered, "{notice}");
        self.metrics.reset();
        self.status.update(|status| status.notice = notice);
        position.cursor = recovered.unwrap_or_default();
        Ok(())
    }

    async fn open(
        &self,
        cursor: &str,
        follow: bool,
    ) -> Result<Streaming<wire::StreamSamplesResponse>, SourceError> {
        let request = wire::StreamSamplesRequest {
            cursor: cursor.to_owned(),
            follow,
            node_selector: self.selector.clone(),
        };
        let mut client = VmafxControllerClient::new(self.channel.clone());
        Ok(client.stream_samples(streaming(request)).await?.into_inner())
    }

    fn report_connected(&self) {
        self.connected.open();
        self.metrics.connected();
        self.status.update(|status| status.source_error.clear());
    }

    fn report_disconnected(&self, error: &SourceError) {
        tracing::warn!(error = error as &dyn std::error::Error, "cannot read samples");
        self.metrics.disconnected();
        self.connected.close(error.to_string());
        self.status.update(|status| status.source_error = error.to_string());
    }
}

/// The next item, or `None` at the end of the stream.
async fn next(stream: &mut (impl ResponseStream + Unpin)) -> Result<Option<StreamItem>, SourceError> {
    let item = tokio::time::timeout(IDLE_TIMEOUT, stream.next()).await;
    let item = item.map_err(|_| SourceError::IdleTimeout(IDLE_TIMEOUT))?.transpose()?;
    Ok(item.map(|item| StreamItem {
        cursor: item.cursor,
        sample: item.sample.map(|sample| Sample {
            job_id: sample.job_id,
            features: sample.features,
            ground_truth: sample.ground_truth,
            labelled_by: sample.labelled_by,
        }),
        begins_again: false,
    }))
}

/// The cursor before the first sample with a known fingerprint. Samples before it were learned, and their fingerprints
/// dropped.
async fn cursor_before_first_known(
    stream: &mut (impl ResponseStream + Unpin),
    known: &HashSet<u64>,
) -> Result<Option<String>, SourceError> {
    let mut before = String::new();
    while let Some(item) = next(stream).await? {
        if item.sample.is_some_and(|sample| known.contains(&fingerprint(&sample))) {
            return Ok(Some(before));
        }
        before = item.cursor;
    }
    Ok(None)
}

trait ResponseStream: Stream<Item = Result<wire::StreamSamplesResponse, Status>> {}

impl<S: Stream<Item = Result<wire::StreamSamplesResponse, Status>>> ResponseStream for S {}

fn retry_delays() -> impl Iterator<Item = Duration> {
    ExponentialBuilder::default()
        .with_jitter()
        .with_min_delay(Duration::from_millis(200))
        .with_max_delay(MAX_RETRY_DELAY)
        .without_max_times()
        .build()
}

#[cfg(test)]
mod tests {
    use futures::stream;
    use rstest::rstest;

    use super::*;

    fn response(number: u32) -> wire::StreamSamplesResponse {
        let sample = wire::Sample { job_id: number.to_string(), ..wire::Sample::default() };
        wire::StreamSamplesResponse { cursor: format!("c{number}"), sample: Some(sample) }
    }

    fn fingerprints(numbers: &[u32]) -> Fingerprints {
        let mut fingerprints = Fingerprints::default();
        for number in numbers {
            let features = BTreeMap::new();
            let labelled_by = String::new();
            fingerprints.add(&Sample {
                job_id: number.to_string(),
                features,
                ground_truth: 0.0,
                labelled_by,
            });
        }
        fingerprints
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_stream_times_out() {
        let error = next(&mut stream::pending()).await.unwrap_err();
        assert_eq!(error.to_string(), "the controller sent nothing for 45s");
    }

    /// The copy of the store scores job 2 again, after job 7, which it never had before.
    #[test]
    fn a_sample_that_was_learned_is_skipped_and_one_between_them_is_not() {
        let mut position = StreamPosition { cursor: String::new(), fingerprints: fingerprints(&[1, 2, 3]) };
        let items = [1, 7, 2, 3, 8, 7].map(|number: u32| StreamItem {
            cursor: format!("c{number}"),
            sample: Some(Sample {
                job_id: number.to_string(),
                features: BTreeMap::new(),
                ground_truth: 0.0,
                labelled_by: String::new(),
            }),
            begins_again: number == 1,
        });
        let learned = items.map(|item| position.advance(item).map(|sample| sample.job_id));
        // The last one is a second label with the same value.
        let expected = [None, Some("7"), None, None, Some("8"), Some("7")];
        assert_eq!(
            learned.map(|id| id.as_deref().map(str::to_owned)),
            expected.map(|id| id.map(str::to_owned))
        );
        assert_eq!(position.cursor, "c7");
    }

    #[rstest]
    #[case::an_older_copy(&[1, 2, 3, 4, 5, 6], Some(""))]
    #[case::older_ones_were_dropped(&[3, 4], Some("c2"))]
    #[case::nothing_known(&[7, 8], None)]
    #[tokio::test]
    async fn reading_resumes_at_the_first_known_sample(
        #[case] learned: &[u32],
        #[case] expected: Option<&str>,
    ) {
        let end = wire::StreamSamplesResponse { cursor: "end".into(), sample: None };
        let mut stored = stream::iter((1..=4).map(response).chain([end]).map(Ok));
        let found = cursor_before_first_known(&mut stored, &fingerprints(learned).to_set()).await.unwrap();
        assert_eq!(found.as_deref(), expected);
    }

    #[tokio::test]
    async fn an_interrupted_search_is_an_error() {
        let mut broken = stream::iter([Ok(response(1)), Err(Status::unavailable("gone"))]);
        assert!(cursor_before_first_known(&mut broken, &fingerprints(&[2]).to_set()).await.is_err());
    }
}
