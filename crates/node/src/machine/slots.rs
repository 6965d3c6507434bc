//! What each slot gets. Pure.

use super::Machine;

/// For the agent itself, what it fetches through, and the kernel's own.
const AGENT: u64 = 128 << 20;

/// What one slot gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Threads that measure.
    pub threads: u32,
    /// Bytes of memory for a worker.
    pub memory: u64,
}

/// Equal parts. Threads are rounded up: a core that is shared is busy, one that is left over is not.
pub(super) fn share(machine: Machine, slots: u32) -> Share {
    let slots = slots.max(1);
    let agent = AGENT.min(machine.memory / 4);
    Share { threads: machine.cores.div_ceil(slots), memory: (machine.memory - agent) / u64::from(slots) }
}
