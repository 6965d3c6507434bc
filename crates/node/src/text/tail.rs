//! The end of a process's output, in bounded memory.

use std::collections::VecDeque;

#[derive(Clone, Debug)]
pub(crate) struct Tail {
    bytes: VecDeque<u8>,
    max_bytes: usize,
}

impl Tail {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self { bytes: VecDeque::new(), max_bytes }
    }

    pub(crate) fn push(&mut self, output: &[u8]) {
        self.bytes.extend(&output[output.len().saturating_sub(self.max_bytes)..]);
        let excess = self.bytes.len().saturating_sub(self.max_bytes);
        self.bytes.drain(..excess);
    }

    pub(crate) fn text(&self) -> String {
        let (start, end) = self.bytes.as_slices();
        String::from_utf8_lossy(&[start, end].concat()).into_owned()
    }

    /// The last line that is not blank; empty if there is none.
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
