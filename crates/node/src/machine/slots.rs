//! The share of each slot. Pure.

use super::Machine;

/// Reserved for the agent itself, its downloads, and the kernel.
const AGENT_BYTES: u64 = 128 << 20;

/// Resources of one slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotShare {
    pub threads: u32,
    /// Bytes of memory for a worker.
    pub memory: u64,
}

/// Splits the machine equally. Threads are rounded up, because a shared core is better than an idle one.
pub(super) fn share(machine: Machine, slots: u32) -> SlotShare {
    let slots = slots.max(1);
    let agent = AGENT_BYTES.min(machine.memory / 4);
    SlotShare { threads: machine.cores.div_ceil(slots), memory: (machine.memory - agent) / u64::from(slots) }
}
