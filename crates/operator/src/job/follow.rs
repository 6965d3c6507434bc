//! The controller's live stream, into the mirror: one for all jobs of this cluster, resumed where it was cut.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};
use tonic::{Code, Status, Streaming};
use vmafx_kit::tasks::Shutdown;
use vmafx_proto::controller::v1::Job;

use super::Seen;
use super::link::{Link, lean};
use super::metrics::JobMetrics;
use super::mirror::Mirror;
use crate::key::ObjectKey;
use crate::runtime::{Cache, Cached as _, Notifier};

/// The controller says something every 15 s; a stream that is silent for this long is dead.
const SILENCE: Duration = Duration::from_secs(45);

/// Listens to the controller.
pub struct Follower {
    /// The controller.
    pub link: Link,
    /// What is heard.
    pub mirror: Mirror,
    /// The resources.
    pub jobs: Cache<Seen>,
    /// Who is told that something changed.
    pub notifier: Notifier,
    /// What is counted.
    pub metrics: JobMetrics,
}

/// Why a stream is over.
enum Over {
    /// The controller cannot go on from where we were.
    OutOfRange,
    /// Anything else.
    Cut(String),
}

impl Follower {
    /// Listens until shutdown.
    pub async fn run(self, shutdown: Shutdown) -> Result<(), Infallible> {
        // Nobody else reads it once this ends.
        shutdown.run_until_begun(self.listen()).await;
        self.mirror.set_live(false);
        self.metrics.live.set(0);
        Ok(())
    }

    async fn listen(&self) -> Infallible {
        let (mut cursor, mut pauses, mut said) = (String::new(), pauses(), None);
        loop {
            let resumed = !cursor.is_empty();
            let over = match self.link.changes(cursor.clone()).await {
                Ok(stream) => self.hear(stream, &mut cursor, resumed, &mut said, &mut pauses).await,
                Err(status) => self.over(&status),
            };
            self.mirror.set_live(false);
            self.metrics.live.set(0);
            match over {
                Over::OutOfRange if resumed => {
                    tracing::warn!(
                        "the controller cannot go on from where we were: every open job is asked for"
                    );
                    cursor.clear();
                }
                Over::OutOfRange => tokio::time::sleep(next(&mut pauses)).await,
                Over::Cut(why) => {
                    self.metrics.cuts.inc();
                    if said.as_ref() != Some(&why) {
                        tracing::warn!(problem = why, "cannot follow the controller's jobs; trying again");
                        said = Some(why);
                    }
                    tokio::time::sleep(next(&mut pauses)).await;
                }
            }
        }
    }

    /// Listens to one stream until it is over.
    async fn hear(
        &self,
        mut stream: Streaming<Job>,
        cursor: &mut String,
        resumed: bool,
        said: &mut Option<String>,
        pauses: &mut ExponentialBackoff,
    ) -> Over {
        let mut begun = false;
        if resumed {
            self.begin(said).await;
            begun = true;
        }
        loop {
            let item = match tokio::time::timeout(SILENCE, stream.message()).await {
                Ok(Ok(Some(item))) => item,
                Ok(Ok(None)) => return Over::Cut("the controller ended the stream".to_owned()),
                Ok(Err(status)) => return self.over(&status),
                Err(_) => return Over::Cut(format!("the controller said nothing for {SILENCE:?}")),
            };
            *pauses = self::pauses();
            if !item.cursor.is_empty() {
                cursor.clone_from(&item.cursor);
            }
            if !begun {
                // From here on nothing is missed, and what was heard before may be old.
                self.mirror.reset();
                self.begin(said).await;
                begun = true;
            }
            if let Some(key) = self.concerns(&item)
                && self.mirror.keep(Arc::new(lean(item)))
            {
                self.notifier.notify(key).await;
            }
        }
    }

    /// Changes are heard of again; whoever waited for that is told.
    async fn begin(&self, said: &mut Option<String>) {
        if said.take().is_some() {
            tracing::info!("the controller's jobs are followed again");
        }
        self.mirror.set_live(true);
        self.metrics.live.set(1);
        for seen in self.jobs.all() {
            if seen.open().is_some() {
                self.notifier.notify(seen.key()).await;
            }
        }
    }

    /// The resource that a job stands for, if it is there and open.
    fn concerns(&self, job: &Job) -> Option<ObjectKey> {
        let origin = job.origin.as_ref()?;
        let key = ObjectKey::new(origin.namespace.clone(), origin.name.clone());
        let seen = self.jobs.get(&key)?;
        (seen.uid() == origin.uid && seen.open().is_some()).then_some(key)
    }

    fn over(&self, status: &Status) -> Over {
        match status.code() {
            Code::OutOfRange => Over::OutOfRange,
            _ => Over::Cut(self.link.why(status).message),
        }
    }
}

fn pauses() -> ExponentialBackoff {
    ExponentialBuilder::default()
        .with_jitter()
        .with_min_delay(Duration::from_millis(100))
        .with_max_delay(Duration::from_secs(5))
        .without_max_times()
        .build()
}

fn next(pauses: &mut ExponentialBackoff) -> Duration {
    pauses.next().unwrap_or(Duration::from_secs(5))
}
