//! The end of what a process says, in bounded memory.

use std::collections::VecDeque;

/// Keeps the last bytes.
#[derive(Clone, Debug)]
pub(crate) struct Tail {
    bytes: VecDeque<u8>,
    most: usize,
}

impl Tail {
    /// Keeps so many.
    pub(crate) fn new(most: usize) -> Self {
        Self { bytes: VecDeque::new(), most }
    }

    /// Adds what was said.
    pub(crate) fn push(&mut self, said: &[u8]) {
        self.bytes.extend(&said[said.len().saturating_sub(self.most)..]);
        let excess = self.bytes.len().saturating_sub(self.most);
        self.bytes.drain(..excess);
    }

    /// All that is kept.
    pub(crate) fn text(&self) -> String {
        let (start, end) = self.bytes.as_slices();
        String::from_utf8_lossy(&[start, end].concat()).into_owned()
    }

    /// The last line with anything in it; nothing if there is none.
    pub(crate) fn last_line(&self) -> String {
        let text = self.text();
        text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_is_kept() {
        let mut tail = Tail::new(8);
        tail.push(b"one\n");
        tail.push(b"a very long line\n");
        tail.push(b"two\n \n");
        assert_eq!(tail.text(), "e\ntwo\n \n");
        assert_eq!(tail.last_line(), "two");
        assert_eq!(Tail::new(8).last_line(), "");
    }
}
