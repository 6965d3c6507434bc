//! The unfinished message of a call, in segments of one size: growing never moves or doubles it, and what it uses of the
//! memory is known before it is used.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

const SEGMENT_BYTES: usize = 16 * 1024;

#[derive(Debug, Default)]
pub(super) struct HeldMessage {
    /// All but the last are full.
    segments: VecDeque<BytesMut>,
}

impl HeldMessage {
    /// Memory for a message of which this much has arrived.
    pub(super) fn memory(received: usize) -> usize {
        received.div_ceil(SEGMENT_BYTES).saturating_mul(SEGMENT_BYTES)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    pub(super) fn push(&mut self, mut data: &[u8]) {
        while !data.is_empty() {
            let free = self.segments.back().map_or(0, |last| SEGMENT_BYTES.saturating_sub(last.len()));
            if free == 0 {
                self.segments.push_back(BytesMut::with_capacity(SEGMENT_BYTES));
            }
            let Some(last) = self.segments.back_mut() else { return };
            let (now, later) = data.split_at(data.len().min(SEGMENT_BYTES - last.len()));
            last.extend_from_slice(now);
            data = later;
        }
    }

    /// Removes the oldest segment.
    pub(super) fn pop(&mut self) -> Option<Bytes> {
        self.segments.pop_front().map(BytesMut::freeze)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_come_back_in_order_and_use_the_memory_that_was_foretold() {
        let bytes: Vec<u8> = (0..40_000_u32).map(|number| number.to_le_bytes()[0]).collect();
        let mut held = HeldMessage::default();
        for piece in bytes.chunks(1999) {
            held.push(piece);
        }
        let capacity: usize = held.segments.iter().map(BytesMut::capacity).sum();
        assert_eq!(capacity, HeldMessage::memory(bytes.len()));
        let returned: Vec<u8> = std::iter::from_fn(|| held.pop()).flatten().collect();
        assert_eq!(returned, bytes);
        assert!(held.is_empty());
    }
}
