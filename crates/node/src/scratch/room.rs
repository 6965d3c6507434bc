//! Whether the scratch volume has room, for the readiness of the node.
//!
//! | free space, and what this process may use of it | ready | jobs                                                           |
//! |--------------------------------------------------|-------|----------------------------------------------------------------|
//! | enough                                           | yes   | are pulled                                                     |
//! | taken by the downloads of this process           | yes   | wait for each other's space                                    |
//! | taken by others                                  | no    | are pulled: those with mounted clips can be scored, the others fail with `ScratchFull` and are tried elsewhere |
//!
//! Nothing else depends on readiness: no call is routed to a node, and liveness does not look at the volume. A restart would
//! not make room.

use std::convert::Infallible;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};
use vmafx_kit::health::ReadinessGate;
use vmafx_kit::tasks::Shutdown;

use super::Scratch;

const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// Less than this is no room for a clip.
const MIN_ROOM: u64 = 64 << 20;

/// The space of the volume, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct VolumeSpace {
    pub(super) size: u64,
    pub(super) free: u64,
}

/// Bytes that are missing; `None` when there is room. `reserved` bytes are held by jobs of this process, which will release
/// them.
fn missing(volume: VolumeSpace, reserved: u64) -> Option<u64> {
    let needed = MIN_ROOM.min(volume.size / 10);
    needed.checked_sub(volume.free.saturating_add(reserved)).filter(|missing| *missing > 0)
}

impl Scratch {
    /// Keeps the gate closed while other files fill the volume.
    pub(crate) async fn watch_room(self, gate: ReadinessGate, shutdown: Shutdown) -> Result<(), Infallible> {
        let mut polls = interval(POLL_INTERVAL);
        polls.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while shutdown.run_until_begun(polls.tick()).await.is_some() {
            // A volume that cannot be asked is noticed by the jobs.
            match self.0.quota.volume().filter(|volume| missing(*volume, self.reserved()).is_some()) {
                Some(volume) => gate.close(format!(
                    "full: {} of {} bytes are free at {} (VMAFX_SCRATCH_DIR); remove other files or enlarge the \
                     volume, and the node goes on by itself",
                    volume.free,
                    volume.size,
                    self.path().display()
                )),
                None => gate.open(),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const MIB: u64 = 1 << 20;

    #[rstest]
    #[case::room(100 * 1024, 64, 0, None)]
    #[case::full(100 * 1024, 63, 0, Some(1))]
    #[case::used_by_our_own_downloads(100 * 1024, 0, 50 * 1024, None)]
    #[case::used_by_others_too(100 * 1024, 0, 10, Some(54))]
    #[case::small_volume(100, 10, 0, None)]
    #[case::small_and_full(100, 9, 0, Some(1))]
    fn only_what_others_use_fills_the_volume(
        #[case] size: u64,
        #[case] free: u64,
        #[case] reserved: u64,
        #[case] expected: Option<u64>,
    ) {
        let volume = VolumeSpace { size: size * MIB, free: free * MIB };
        assert_eq!(missing(volume, reserved * MIB), expected.map(|missing| missing * MIB));
    }
}
