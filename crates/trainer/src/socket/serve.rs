//! Speaks to the clients of the socket.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use vmafx_kit::tasks::{BoxError, Shutdown};

use super::claim::Claim;
use super::line::{self, LONGEST, Line};
use super::wire::{Answer, Offered};
use crate::status::{Board, Phase};

/// Clients at a time; more are told to come again.
const CLIENTS: usize = 256;

/// How long a client may take to take its answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A sample, and whom to tell what came of it.
#[derive(Debug)]
pub struct Offer {
    /// The sample.
    pub offered: Offered,
    /// Waits for the answer.
    pub answer: oneshot::Sender<Answer>,
}

/// The socket.
#[derive(Debug)]
pub struct Socket {
    /// The file.
    pub claim: Claim,
    /// Where samples go.
    pub offers: mpsc::Sender<Offer>,
    /// Says whether they can be taken.
    pub board: Board,
}

impl Socket {
    /// Serves until it is told to stop; clients that wait for an answer get it.
    pub async fn run(self, shutdown: Shutdown) -> Result<(), BoxError> {
        let mut clients = JoinSet::new();
        loop {
            tokio::select! {
                () = shutdown.begun() => break,
                Some(_) = clients.join_next() => {}
                accepted = self.claim.listener().accept() => match accepted {
                    Ok((stream, _)) if clients.len() >= CLIENTS => {
                        clients.spawn(turn_away(stream));
                    }
                    Ok((stream, _)) => {
                        let (offers, board) = (self.offers.clone(), self.board.clone());
                        clients.spawn(client(stream, offers, board, shutdown.clone()));
                    }
                    Err(error) => {
                        tracing::warn!(%error, "a client of the socket was not let in");
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                },
            }
        }
        drop(self.claim);
        while clients.join_next().await.is_some() {}
        Ok(())
    }
}

/// One client, to its end.
async fn client(stream: UnixStream, offers: mpsc::Sender<Offer>, board: Board, shutdown: Shutdown) {
    let ended = speak(stream, &offers, &board, &shutdown).await;
    if let Err(error) = ended {
        tracing::debug!(%error, "a client of the socket ended early");
    }
}

async fn speak(
    mut stream: UnixStream,
    offers: &mpsc::Sender<Offer>,
    board: &Board,
    shutdown: &Shutdown,
) -> io::Result<()> {
    let (from, mut to) = stream.split();
    let mut from = BufReader::new(from);
    while let Some(line) = shutdown.run_until_begun(line::next(&mut from)).await.transpose()?.flatten() {
        let answer = match line {
            Line::TooLong => Answer::refused(format!("a line is longer than {LONGEST} bytes")),
            Line::Whole(line) => match Offered::parse(&line) {
                Ok(offered) => offer(offered, offers, board).await,
                Err(wrong) => Answer::refused(wrong),
            },
        };
        tokio::time::timeout(PATIENCE, to.write_all(&answer.line())).await??;
    }
    Ok(())
}

/// Hands a sample on and waits for what comes of it.
async fn offer(offered: Offered, offers: &mpsc::Sender<Offer>, board: &Board) -> Answer {
    if let Some(reason) = board.read(not_now) {
        return Answer::later(reason);
    }
    let (answer, answered) = oneshot::channel();
    match offers.try_send(Offer { offered, answer }) {
        Ok(()) => answered.await.unwrap_or_else(|_| Answer::later("the trainer is leaving")),
        Err(mpsc::error::TrySendError::Full(_)) => Answer::later("too many samples are waiting"),
        Err(mpsc::error::TrySendError::Closed(_)) => Answer::later("the trainer is leaving"),
    }
}

fn not_now(status: &crate::status::Status) -> Option<String> {
    match status.phase {
        Phase::Running => None,
        Phase::Paused => Some("the trainer is leaving".to_owned()),
        Phase::Initializing | Phase::Failed => Some(match status.error() {
            error if error.is_empty() => "the trainer does not learn yet".to_owned(),
            error => format!("the trainer does not learn yet: {error}"),
        }),
    }
}

async fn turn_away(mut stream: UnixStream) {
    let _ = stream.write_all(&Answer::later("too many clients").line()).await;
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream as Client;

    use super::*;

    /// What a client is told that sends these lines.
    async fn told(board: &Board, offers: &mpsc::Sender<Offer>, lines: &[u8]) -> Vec<serde_json::Value> {
        let (ours, theirs) = Client::pair().unwrap();
        for side in [&ours, &theirs] {
            side.set_nonblocking(true).unwrap();
        }
        let mut ours = UnixStream::from_std(ours).unwrap();
        ours.write_all(lines).await.unwrap();
        ours.shutdown().await.unwrap();
        let theirs = UnixStream::from_std(theirs).unwrap();
        speak(theirs, offers, board, &Shutdown::new()).await.unwrap();
        let mut said = String::new();
        tokio::io::AsyncReadExt::read_to_string(&mut ours, &mut said).await.unwrap();
        said.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    const GOOD: &[u8] = b"{\"job_id\":\"j\",\"features\":[1],\"true_score\":2}\n";

    fn running() -> Board {
        let board = Board::default();
        board.update(|status| status.phase = Phase::Running);
        board
    }

    #[tokio::test]
    async fn a_full_queue_is_no_refusal() {
        let (offers, _waiting) = mpsc::channel(1);
        let (answer, _answered) = oneshot::channel();
        let offered = Offered { job_id: String::new(), features: Vec::new(), true_score: 0.0 };
        offers.try_send(Offer { offered, answer }).unwrap();
        let said = told(&running(), &offers, GOOD).await;
        assert_eq!(
            said,
            [serde_json::json!({"ok": false, "retryable": true, "error": "too many samples are waiting"})]
        );
    }

    #[tokio::test]
    async fn a_trainer_that_does_not_learn_yet_says_why() {
        let (offers, _waiting) = mpsc::channel(1);
        let board = Board::default();
        board.update(|status| status.start_error = "no registry".into());
        let said = told(&board, &offers, GOOD).await;
        assert_eq!(said[0]["retryable"], true);
        assert_eq!(said[0]["error"], "the trainer does not learn yet: no registry");
    }

    #[tokio::test]
    async fn a_bad_line_is_answered_and_the_next_one_is_heard() {
        let (offers, mut waiting) = mpsc::channel::<Offer>(1);
        let learner = async {
            let offer = waiting.recv().await.unwrap();
            offer.answer.send(Answer::taken(1, Some(0.5), offer.offered.job_id)).unwrap();
        };
        let lines = [b"hello\n", &vec![b'x'; LONGEST + 1][..], b"\n", GOOD].concat();
        let (said, ()) = tokio::join!(async { told(&running(), &offers, &lines).await }, learner);
        let oks: Vec<_> = said.iter().map(|answer| answer["ok"].as_bool().unwrap()).collect();
        assert_eq!(oks, [false, false, true], "{said:?}");
        assert_eq!(said[0].get("retryable"), None);
        assert_eq!(said[2]["job_id"], "j");
    }
}
