use std::fmt::Write as _;
use std::io::{self, Write};

use sha2::{Digest as _, Sha256};

/// `sha256:…`
pub(crate) fn sha256(bytes: &[u8]) -> String {
    text(&Sha256::digest(bytes))
}

fn text(digest: &[u8]) -> String {
    digest.iter().fold("sha256:".to_owned(), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Computes the digest and the size of everything that is written through it.
pub(crate) struct HashingWriter<W> {
    inner: W,
    digest: Sha256,
    size: u64,
}

impl<W: Write> HashingWriter<W> {
    pub(crate) fn new(inner: W) -> Self {
        Self { inner, digest: Sha256::new(), size: 0 }
    }

    /// The inner writer, the digest and the size.
    pub(crate) fn finish(self) -> (W, String, u64) {
        (self.inner, text(&self.digest.finalize()), self.size)
    }
}

impl<W: Write> Write for HashingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.digest.update(&bytes[..written]);
        self.size += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
