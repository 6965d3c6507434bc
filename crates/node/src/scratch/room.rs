//! How much may be written.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::size::Size;

/// Room is counted in pieces of this many bytes: a semaphore hands out at most 2^32 at a time.
const PIECE: u64 = 64 << 10;

/// What does not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Full {
    /// More than there is at all.
    #[error("it needs {needs} bytes of scratch, and there are only {limit} (VMAFX_SCRATCH_BYTES)")]
    Never {
        /// What was asked for.
        needs: u64,
        /// All there is.
        limit: Size,
    },
    /// Other jobs hold the room and kept it.
    #[error("it needs {needs} bytes of scratch, which other jobs held for {waited:?} (VMAFX_SCRATCH_BYTES)")]
    Held {
        /// What was asked for.
        needs: u64,
        /// How long.
        waited: Duration,
    },
    /// The file system is full.
    #[error(
        "it needs {needs} bytes of scratch, and the file system has only {free} left (VMAFX_SCRATCH_DIR)"
    )]
    Disk {
        /// What was asked for.
        needs: u64,
        /// What is left.
        free: u64,
    },
}

#[derive(Debug)]
pub(super) struct Room {
    limit: u64,
    pieces: u32,
    left: Arc<Semaphore>,
    directory: PathBuf,
}

/// Room that is set aside; dropping it gives it back.
#[derive(Debug, Default)]
pub struct Reservation {
    held: Option<OwnedSemaphorePermit>,
}

impl Room {
    pub(super) fn new(limit: u64, directory: PathBuf) -> Self {
        let most = u64::from(u32::MAX).min(Semaphore::MAX_PERMITS as u64);
        let pieces = u32::try_from((limit / PIECE).min(most)).unwrap_or(u32::MAX);
        Self { limit, pieces, left: Arc::new(Semaphore::new(pieces as usize)), directory }
    }

    pub(super) fn reserved(&self) -> u64 {
        (u64::from(self.pieces) - self.left.available_permits() as u64) * PIECE
    }

    /// Sets room aside, for somebody who holds some already: what would be too much together never comes.
    pub(super) async fn reserve(&self, bytes: u64, held: u64, wait: Duration) -> Result<Reservation, Full> {
        let needs = bytes.saturating_add(held);
        let never = Full::Never { needs, limit: Size(self.limit) };
        if needs.div_ceil(PIECE) > u64::from(self.pieces) {
            return Err(never);
        }
        let pieces = u32::try_from(bytes.div_ceil(PIECE)).map_err(|_| never)?;
        if pieces == 0 {
            return Ok(Reservation::default());
        }
        let held = timeout(wait, Arc::clone(&self.left).acquire_many_owned(pieces)).await;
        // The semaphore is never closed.
        let held = held.ok().and_then(Result::ok).ok_or(Full::Held { needs: bytes, waited: wait })?;
        let reservation = Reservation { held: Some(held) };
        match rustix::fs::statvfs(&self.directory).map(|stat| stat.f_bavail.saturating_mul(stat.f_frsize)) {
            Ok(free) if free < bytes => Err(Full::Disk { needs: bytes, free }),
            _ => Ok(reservation),
        }
    }
}

impl Reservation {
    /// Bytes that may be written.
    pub fn bytes(&self) -> u64 {
        self.held.as_ref().map_or(0, |held| held.num_permits() as u64 * PIECE)
    }

    /// Takes another one in.
    pub fn join(&mut self, other: Self) {
        match (&mut self.held, other.held) {
            (Some(held), Some(other)) => held.merge(other),
            (held @ None, other) => *held = other,
            _ => {}
        }
    }

    /// Gives back what is more than this many bytes.
    pub fn shrink_to(&mut self, bytes: u64) {
        let Some(held) = &mut self.held else { return };
        let needed = usize::try_from(bytes.div_ceil(PIECE)).unwrap_or(usize::MAX);
        let spare = held.num_permits().saturating_sub(needed);
        drop(held.split(spare));
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    const WAIT: Duration = Duration::from_mins(1);

    fn room(pieces: u64) -> Room {
        Room::new(pieces * PIECE, std::env::temp_dir())
    }

    #[tokio::test]
    async fn what_is_dropped_is_given_back() {
        let room = room(4);
        let mut first = room.reserve(2 * PIECE + 1, 0, WAIT).await.unwrap();
        assert_eq!((first.bytes(), room.reserved()), (3 * PIECE, 3 * PIECE));
        first.join(room.reserve(PIECE, 0, WAIT).await.unwrap());
        assert_eq!(room.reserved(), 4 * PIECE);
        first.shrink_to(PIECE);
        assert_eq!(room.reserved(), PIECE);
        drop(first);
        assert_eq!(room.reserved(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn what_can_never_fit_is_told_at_once() {
        let start = Instant::now();
        let room = room(4);
        assert!(matches!(room.reserve(5 * PIECE, 0, WAIT).await, Err(Full::Never { .. })));
        assert!(matches!(room.reserve(u64::MAX, 0, WAIT).await, Err(Full::Never { .. })));
        let mut own = room.reserve(3 * PIECE, 0, WAIT).await.unwrap();
        let more = room.reserve(2 * PIECE, own.bytes(), WAIT).await;
        assert_eq!(
            more.unwrap_err(),
            Full::Never { needs: 5 * PIECE, limit: Size(4 * PIECE) },
            "it holds the rest itself"
        );
        own.join(room.reserve(PIECE, own.bytes(), WAIT).await.unwrap());
        assert_eq!(start.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn what_others_hold_is_waited_for_but_not_forever() {
        let room = room(4);
        let held = room.reserve(3 * PIECE, 0, WAIT).await.unwrap();
        assert!(matches!(room.reserve(2 * PIECE, 0, WAIT).await, Err(Full::Held { .. })));
        let (second, ()) = tokio::join!(room.reserve(2 * PIECE, 0, WAIT), async { drop(held) });
        assert_eq!(second.unwrap().bytes(), 2 * PIECE);
    }

    #[tokio::test]
    async fn a_file_system_that_is_full_is_told() {
        let room = Room::new(u64::MAX / 2, std::env::temp_dir());
        assert!(matches!(room.reserve(1 << 47, 0, WAIT).await, Err(Full::Disk { .. })));
        assert_eq!(room.reserved(), 0);
    }
}
