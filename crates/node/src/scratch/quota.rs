//! The limit on the space of this process.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::byte_size::ByteSize;
use super::room::VolumeSpace;

/// Space is counted in blocks, because a semaphore hands out at most 2^32 permits at a time.
const BLOCK_BYTES: u64 = 64 << 10;

/// Why space cannot be reserved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScratchFull {
    #[error("it needs {needs} bytes of scratch space, and the limit is {limit} (VMAFX_SCRATCH_BYTES)")]
    ExceedsLimit { needs: u64, limit: ByteSize },
    #[error(
        "it needs {needs} bytes of scratch space, which other jobs held for {waited:?} (VMAFX_SCRATCH_BYTES)"
    )]
    HeldByOthers { needs: u64, waited: Duration },
    #[error(
        "it needs {needs} bytes of scratch space, and the whole file system has {size} (VMAFX_SCRATCH_DIR)"
    )]
    ExceedsVolume { needs: u64, size: u64 },
    #[error(
        "it needs {needs} bytes of scratch space, and the file system has {free} left (VMAFX_SCRATCH_DIR)"
    )]
    DiskFull { needs: u64, free: u64 },
}

impl ScratchFull {
    /// Whether the space would not suffice even if nobody else used it.
    pub(crate) fn is_permanent(&self) -> bool {
        match self {
            Self::ExceedsLimit { .. } | Self::ExceedsVolume { .. } => true,
            Self::HeldByOthers { .. } | Self::DiskFull { .. } => false,
        }
    }
}

#[derive(Debug)]
pub(super) struct ScratchQuota {
    limit: u64,
    blocks: u32,
    free: Arc<Semaphore>,
    directory: PathBuf,
}

/// Reserved space; it is released on drop.
#[derive(Debug, Default)]
pub struct Reservation {
    permit: Option<OwnedSemaphorePermit>,
}

impl ScratchQuota {
    pub(super) fn new(limit: u64, directory: PathBuf) -> Self {
        let max = u64::from(u32::MAX).min(Semaphore::MAX_PERMITS as u64);
        let blocks = u32::try_from((limit / BLOCK_BYTES).min(max)).unwrap_or(u32::MAX);
        Self { limit, blocks, free: Arc::new(Semaphore::new(blocks as usize)), directory }
    }

    /// The space that a job has if it is alone: the limit, or the size of the file system if that is smaller.
    pub(super) fn capacity(&self) -> u64 {
        let limit = u64::from(self.blocks) * BLOCK_BYTES;
        self.volume().map_or(limit, |volume| limit.min(volume.size))
    }

    pub(super) fn reserved(&self) -> u64 {
        (u64::from(self.blocks) - self.free.available_permits() as u64) * BLOCK_BYTES
    }

    /// Reserves space in addition to `held` bytes of the same caller. A total beyond the limit is refused at once, because
    /// the caller would wait for itself.
    pub(super) async fn reserve(
        &self,
        bytes: u64,
        held: u64,
        wait: Duration,
    ) -> Result<Reservation, ScratchFull> {
        let needs = bytes.saturating_add(held);
        let exceeds = ScratchFull::ExceedsLimit { needs, limit: ByteSize(self.limit) };
        if needs.div_ceil(BLOCK_BYTES) > u64::from(self.blocks) {
            return Err(exceeds);
        }
        let blocks = u32::try_from(bytes.div_ceil(BLOCK_BYTES)).map_err(|_| exceeds)?;
        if blocks == 0 {
            return Ok(Reservation::default());
        }
        let permit = timeout(wait, Arc::clone(&self.free).acquire_many_owned(blocks)).await;
        // The inner result is always `Ok`, because the semaphore is never closed.
        let permit = permit
            .ok()
            .and_then(Result::ok)
            .ok_or(ScratchFull::HeldByOthers { needs: bytes, waited: wait })?;
        let reservation = Reservation { permit: Some(permit) };
        match self.volume() {
            Some(VolumeSpace { size, free }) if free < bytes => Err(if size < needs {
                ScratchFull::ExceedsVolume { needs, size }
            } else {
                ScratchFull::DiskFull { needs: bytes, free }
            }),
            _ => Ok(reservation),
        }
    }

    /// The file system of the scratch directory, if it can be asked.
    pub(super) fn volume(&self) -> Option<VolumeSpace> {
        let stat = rustix::fs::statvfs(&self.directory).ok()?;
        let bytes = |blocks: u64| blocks.saturating_mul(stat.f_frsize);
        Some(VolumeSpace { size: bytes(stat.f_blocks), free: bytes(stat.f_bavail) })
    }
}

/// The space that a file of this length reserves.
pub(super) const fn occupied(length: u64) -> u64 {
    length.div_ceil(BLOCK_BYTES).saturating_mul(BLOCK_BYTES)
}

impl Reservation {
    pub fn bytes(&self) -> u64 {
        self.permit.as_ref().map_or(0, |permit| permit.num_permits() as u64 * BLOCK_BYTES)
    }

    /// Adds another reservation to this one.
    pub fn join(&mut self, other: Self) {
        match (&mut self.permit, other.permit) {
            (Some(permit), Some(other)) => permit.merge(other),
            (permit @ None, other) => *permit = other,
            _ => {}
        }
    }

    /// Releases all but this many bytes.
    pub fn shrink_to(&mut self, bytes: u64) {
        let Some(permit) = &mut self.permit else { return };
        let needed = usize::try_from(bytes.div_ceil(BLOCK_BYTES)).unwrap_or(usize::MAX);
        let spare = permit.num_permits().saturating_sub(needed);
        drop(permit.split(spare));
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    const WAIT: Duration = Duration::from_mins(1);

    fn quota(blocks: u64) -> ScratchQuota {
        ScratchQuota::new(blocks * BLOCK_BYTES, std::env::temp_dir())
    }

    #[tokio::test]
    async fn a_dropped_reservation_is_released() {
        let quota = quota(4);
        let mut first = quota.reserve(2 * BLOCK_BYTES + 1, 0, WAIT).await.unwrap();
        assert_eq!((first.bytes(), quota.reserved()), (3 * BLOCK_BYTES, 3 * BLOCK_BYTES));
        first.join(quota.reserve(BLOCK_BYTES, 0, WAIT).await.unwrap());
        assert_eq!(quota.reserved(), 4 * BLOCK_BYTES);
        first.shrink_to(BLOCK_BYTES);
        assert_eq!(quota.reserved(), BLOCK_BYTES);
        drop(first);
        assert_eq!(quota.reserved(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_reservation_beyond_the_limit_is_refused_at_once() {
        let start = Instant::now();
        let quota = quota(4);
        assert!(matches!(
            quota.reserve(5 * BLOCK_BYTES, 0, WAIT).await,
            Err(ScratchFull::ExceedsLimit { .. })
        ));
        assert!(matches!(quota.reserve(u64::MAX, 0, WAIT).await, Err(ScratchFull::ExceedsLimit { .. })));
        let mut own = quota.reserve(3 * BLOCK_BYTES, 0, WAIT).await.unwrap();
        let more = quota.reserve(2 * BLOCK_BYTES, own.bytes(), WAIT).await;
        assert_eq!(
            more.unwrap_err(),
            ScratchFull::ExceedsLimit { needs: 5 * BLOCK_BYTES, limit: ByteSize(4 * BLOCK_BYTES) },
            "it holds the rest itself"
        );
        own.join(quota.reserve(BLOCK_BYTES, own.bytes(), WAIT).await.unwrap());
        assert_eq!(start.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn space_that_others_hold_is_waited_for_but_not_forever() {
        let quota = quota(4);
        let held = quota.reserve(3 * BLOCK_BYTES, 0, WAIT).await.unwrap();
        assert!(matches!(
            quota.reserve(2 * BLOCK_BYTES, 0, WAIT).await,
            Err(ScratchFull::HeldByOthers { .. })
        ));
        let (second, ()) = tokio::join!(quota.reserve(2 * BLOCK_BYTES, 0, WAIT), async { drop(held) });
        assert_eq!(second.unwrap().bytes(), 2 * BLOCK_BYTES);
    }

    #[tokio::test]
    async fn a_full_file_system_is_reported() {
        let quota = ScratchQuota::new(u64::MAX / 2, std::env::temp_dir());
        let too_large = quota.reserve(1 << 47, 0, WAIT).await.unwrap_err();
        let size = quota.volume().unwrap().size;
        assert_eq!(too_large, ScratchFull::ExceedsVolume { needs: 1 << 47, size });
        let most = quota.reserve(size - (1 << 20), 0, WAIT).await.unwrap_err();
        assert!(matches!(most, ScratchFull::DiskFull { .. }), "other files are there: {most}");
        assert_eq!((too_large.is_permanent(), most.is_permanent()), (true, false));
        assert_eq!(quota.reserved(), 0);
    }
}
