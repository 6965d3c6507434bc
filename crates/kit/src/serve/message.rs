//! The framing of gRPC messages. Pure.
//!
//! A message is preceded by a flag and by its length in four bytes, so its size is known before any of it is buffered.

const PREFIX_BYTES: usize = 5;

/// A message that is larger than its method takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MessageTooLarge;

/// Position in a stream of messages.
#[derive(Debug)]
pub(super) struct MessageFraming {
    max: usize,
    prefix: [u8; PREFIX_BYTES],
    prefix_filled: usize,
    payload: usize,
    payload_received: usize,
    messages: usize,
}

impl MessageFraming {
    pub(super) fn new(max: usize) -> Self {
        Self {
            max,
            prefix: [0; PREFIX_BYTES],
            prefix_filled: 0,
            payload: 0,
            payload_received: 0,
            messages: 0,
        }
    }

    /// Follows these bytes, which are the next of the stream.
    pub(super) fn receive(&mut self, mut bytes: &[u8]) -> Result<(), MessageTooLarge> {
        while !bytes.is_empty() {
            if self.prefix_filled < PREFIX_BYTES {
                bytes = self.receive_prefix(bytes)?;
            } else {
                let taken = bytes.len().min(self.payload - self.payload_received);
                self.payload_received += taken;
                bytes = bytes.get(taken..).unwrap_or_default();
            }
            if self.prefix_filled == PREFIX_BYTES && self.payload_received == self.payload {
                (self.prefix_filled, self.payload, self.payload_received) = (0, 0, 0);
                self.messages += 1;
            }
        }
        Ok(())
    }

    fn receive_prefix<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], MessageTooLarge> {
        let taken = bytes.len().min(PREFIX_BYTES - self.prefix_filled);
        let (now, rest) = bytes.split_at(taken);
        for (at, byte) in self.prefix.iter_mut().skip(self.prefix_filled).zip(now) {
            *at = *byte;
        }
        self.prefix_filled += taken;
        if self.prefix_filled == PREFIX_BYTES {
            let [_, a, b, c, d] = self.prefix;
            self.payload = u32::from_be_bytes([a, b, c, d]) as usize;
            if self.payload > self.max {
                return Err(MessageTooLarge);
            }
        }
        Ok(rest)
    }

    /// Bytes of the message that is not complete.
    pub(super) fn unfinished_bytes(&self) -> usize {
        self.prefix_filled + self.payload_received
    }

    /// Number of complete messages.
    pub(super) fn messages(&self) -> usize {
        self.messages
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    fn message(length: usize) -> Vec<u8> {
        let mut bytes = vec![0];
        bytes.extend(u32::try_from(length).unwrap().to_be_bytes());
        bytes.extend(vec![7; length]);
        bytes
    }

    #[rstest]
    #[case::nothing(0, 0, 0)]
    #[case::flag(1, 1, 0)]
    #[case::prefix(5, 5, 0)]
    #[case::half(8, 8, 0)]
    #[case::whole(15, 0, 1)]
    fn the_bytes_of_an_unfinished_message_are_known(
        #[case] sent: usize,
        #[case] unfinished: usize,
        #[case] messages: usize,
    ) {
        let mut framing = MessageFraming::new(10);
        framing.receive(&message(10)[..sent]).unwrap();
        assert_eq!((framing.unfinished_bytes(), framing.messages()), (unfinished, messages));
    }

    #[test]
    fn a_message_that_is_too_large_is_refused_by_its_prefix() {
        let mut framing = MessageFraming::new(9);
        assert_eq!(framing.receive(&message(10)[..4]), Ok(()));
        assert_eq!(framing.receive(&message(10)[4..5]), Err(MessageTooLarge));
    }

    proptest! {
        #[test]
        fn the_cuts_between_frames_do_not_matter(
            lengths in prop::collection::vec(0_usize..40, 0..8),
            cuts in prop::collection::vec(1_usize..17, 1..40),
        ) {
            let bytes: Vec<u8> = lengths.iter().flat_map(|length| message(*length)).collect();
            let mut framing = MessageFraming::new(40);
            let mut rest = bytes.as_slice();
            for cut in cuts.iter().cycle() {
                let (now, later) = rest.split_at(rest.len().min(*cut));
                framing.receive(now).unwrap();
                rest = later;
                if rest.is_empty() {
                    break;
                }
            }
            prop_assert_eq!((framing.unfinished_bytes(), framing.messages()), (0, lengths.len()));
        }
    }
}
