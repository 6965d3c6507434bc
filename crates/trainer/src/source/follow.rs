//! Follows the stream, and finds its place again.

use std::collections::BTreeMap;
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
use super::marks::{Known, Marks};
use crate::learner::Sample;
use crate::status::{Board, TrainerMetrics};

/// The controller says something at least every 15 s.
const SILENCE: Duration = Duration::from_secs(45);

/// Between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Where reading begins.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// The last cursor that was dealt with; empty is the oldest sample kept.
    pub cursor: String,
    /// The samples learned last.
    pub marks: Marks,
}

/// One item of the stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Streamed {
    /// Where to continue after it.
    pub cursor: String,
    /// A sample, or the word that there is none up to the cursor.
    pub sample: Option<Sample>,
}

/// Reads samples until it is told to stop.
pub struct Follow {
    /// The controller.
    pub channel: GrpcChannel,
    /// Whose samples are wanted.
    pub selector: BTreeMap<String, String>,
    /// Open while samples can come.
    pub connected: ReadinessGate,
    /// What people read.
    pub board: Board,
    /// What is counted.
    pub metrics: TrainerMetrics,
}

impl Follow {
    /// Begins when it is told where; hands on every item, as fast as they are taken.
    pub async fn run(
        self,
        begin: oneshot::Receiver<Place>,
        items: mpsc::Sender<Streamed>,
        shutdown: Shutdown,
    ) -> Result<(), BoxError> {
        // Nobody says where if the process ends before it has learned that.
        let Some(Ok(place)) = shutdown.run_until_begun(begin).await else { return Ok(()) };
        shutdown.run_until_begun(self.follow(place, &items)).await;
        self.metrics.disconnected();
        Ok(())
    }

    async fn follow(&self, mut place: Place, items: &mpsc::Sender<Streamed>) {
        let mut pauses = pauses();
        loop {
            let before = place.cursor.clone();
            let error = match self.read(&mut place, items).await {
                Ok(()) => return,
                Err(error) => error,
            };
            if place.cursor != before {
                pauses = self::pauses();
            }
            self.lost(&error);
            if error.is_lost_place()
                && let Err(error) = self.find(&mut place).await
            {
                self.lost(&error);
            }
            tokio::time::sleep(pauses.next().unwrap_or(LONGEST_PAUSE)).await;
        }
    }

    /// Reads until the stream fails; `Ok` when nobody takes the items any more.
    async fn read(&self, place: &mut Place, items: &mpsc::Sender<Streamed>) -> Result<(), SourceError> {
        let mut stream = self.open(&place.cursor, true).await?;
        tracing::info!(cursor = place.cursor, "reading samples");
        loop {
            let item = next(&mut stream).await?.ok_or(SourceError::Ended)?;
            self.met();
            place.cursor.clone_from(&item.cursor);
            if let Some(sample) = &item.sample {
                place.marks.add(sample);
            }
            // Waits while the learner is behind; the controller then waits for us.
            if items.send(item).await.is_err() {
                return Ok(());
            }
        }
    }

    /// Finds where to go on when the cursor is worth nothing any more.
    async fn find(&self, place: &mut Place) -> Result<(), SourceError> {
        let mut stream = self.open("", false).await?;
        let known = place.marks.known();
        let found = last_known(&mut stream, &known).await?;
        let where_ = if found.is_some() {
            "went on behind the last sample that was learned"
        } else {
            "none of its samples was learned, went on with the oldest"
        };
        tracing::warn!(
            cursor = place.cursor,
            found,
            "the controller does not know our place in its samples; {where_}"
        );
        self.metrics.reset();
        self.board.update(|status| {
            status.notice = format!("the controller did not know our place in its samples; {where_}");
        });
        place.cursor = found.unwrap_or_default();
        Ok(())
    }

    async fn open(
        &self,
        cursor: &str,
        follow: bool,
    ) -> Result<Streaming<wire::StreamSamplesResponse>, SourceError> {
        let asked = wire::StreamSamplesRequest {
            cursor: cursor.to_owned(),
            follow,
            node_selector: self.selector.clone(),
        };
        let mut client = VmafxControllerClient::new(self.channel.clone());
        Ok(client.stream_samples(streaming(asked)).await?.into_inner())
    }

    fn met(&self) {
        self.connected.open();
        self.metrics.connected();
        self.board.update_if(|status| {
            let had = !status.source_error.is_empty();
            status.source_error.clear();
            had
        });
    }

    fn lost(&self, error: &SourceError) {
        tracing::warn!(error = error as &dyn std::error::Error, "no samples");
        self.metrics.disconnected();
        self.connected.close(error.to_string());
        self.board.update(|status| status.source_error = error.to_string());
    }
}

/// The next item, or nothing at the end.
async fn next(stream: &mut (impl Answers + Unpin)) -> Result<Option<Streamed>, SourceError> {
    let item = tokio::time::timeout(SILENCE, stream.next()).await;
    let Some(item) = item.map_err(|_| SourceError::Silent(SILENCE))?.transpose()? else { return Ok(None) };
    let sample = item.sample.map(|sample| Sample {
        job_id: sample.job_id,
        features: sample.features,
        ground_truth: sample.ground_truth,
    });
    Ok(Some(Streamed { cursor: item.cursor, sample }))
}

/// The cursor behind the last sample that is known.
async fn last_known(
    stream: &mut (impl Answers + Unpin),
    known: &Known,
) -> Result<Option<String>, SourceError> {
    let mut found = None;
    while let Some(item) = next(stream).await? {
        if item.sample.is_some_and(|sample| known.has(&sample)) {
            found = Some(item.cursor);
        }
    }
    Ok(found)
}

/// What a controller sends.
trait Answers: Stream<Item = Result<wire::StreamSamplesResponse, Status>> {}

impl<S: Stream<Item = Result<wire::StreamSamplesResponse, Status>>> Answers for S {}

fn pauses() -> impl Iterator<Item = Duration> {
    ExponentialBuilder::default()
        .with_jitter()
        .with_min_delay(Duration::from_millis(200))
        .with_max_delay(LONGEST_PAUSE)
        .without_max_times()
        .build()
}

#[cfg(test)]
mod tests {
    use futures::stream;
    use rstest::rstest;

    use super::*;

    fn answer(number: u32) -> wire::StreamSamplesResponse {
        let sample = wire::Sample { job_id: number.to_string(), ..wire::Sample::default() };
        wire::StreamSamplesResponse { cursor: format!("c{number}"), sample: Some(sample) }
    }

    fn marks(numbers: &[u32]) -> Marks {
        let mut marks = Marks::default();
        for number in numbers {
            let features = BTreeMap::new();
            marks.add(&Sample { job_id: number.to_string(), features, ground_truth: 0.0 });
        }
        marks
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_that_says_nothing_is_given_up() {
        let error = next(&mut stream::pending()).await.unwrap_err();
        assert_eq!(error.to_string(), "the controller said nothing for 45s");
    }

    #[rstest]
    #[case::an_older_copy(&[1, 2, 3, 4, 5, 6], Some("c4"))]
    #[case::with_gaps(&[2, 4], Some("c4"))]
    #[case::nothing_known(&[7, 8], None)]
    #[case::nothing_learned(&[], None)]
    #[tokio::test]
    async fn reading_goes_on_behind_the_last_sample_that_is_known(
        #[case] learned: &[u32],
        #[case] expected: Option<&str>,
    ) {
        let end = wire::StreamSamplesResponse { cursor: "end".into(), sample: None };
        let mut kept = stream::iter((1..=4).map(answer).chain([end]).map(Ok));
        let found = last_known(&mut kept, &marks(learned).known()).await.unwrap();
        assert_eq!(found.as_deref(), expected);
    }

    #[tokio::test]
    async fn a_search_that_breaks_off_finds_nothing() {
        let mut broken = stream::iter([Ok(answer(1)), Err(Status::unavailable("gone"))]);
        assert!(last_known(&mut broken, &marks(&[1]).known()).await.is_err());
    }
}
