//! What a client gets.

use std::io::{self, Write};
use std::time::Duration;

use super::Request;

/// An answer, decent or not.
#[derive(Clone, Debug)]
pub struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Body,
}

/// What follows the headers.
#[derive(Clone, Debug)]
pub enum Body {
    /// Exactly this, with its length; ranges are served.
    File(Vec<u8>),
    /// Exactly this, with its length; ranges are ignored.
    Whole(Vec<u8>),
    /// In chunks, without a length.
    Chunked(Vec<u8>),
    /// This and then the end of the connection, without a length.
    UntilClose(Vec<u8>),
    /// These bytes of a body that was declared to be longer, then the end of the connection; ranges are served, each
    /// cut again.
    Cut {
        /// The whole file.
        file: Vec<u8>,
        /// How much of it is sent per connection.
        sent: usize,
    },
    /// Chunks without end.
    Endless,
    /// A declared length, one piece, and then nothing, with the connection open.
    Stalled(Vec<u8>),
    /// Not even headers.
    Silent,
    /// The connection is closed without an answer.
    HangUp,
}

impl Reply {
    /// A status and nothing else.
    pub fn status(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Body::Whole(Vec::new()) }
    }

    /// A file, whole or the part that is asked for.
    pub fn file(content: impl Into<Vec<u8>>) -> Self {
        Self::body(Body::File(content.into()))
    }

    /// Any body, with status 200.
    pub fn body(body: Body) -> Self {
        Self { status: 200, headers: Vec::new(), body }
    }

    /// A redirect.
    pub fn redirect(to: impl Into<String>) -> Self {
        Self::status(302).header("location", to)
    }

    /// Another status than 200.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// One more header.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// The version of the file.
    #[must_use]
    pub fn etag(self, tag: &str) -> Self {
        self.header("etag", tag)
    }

    /// Sends it; whether the connection may be used again.
    pub(super) fn send(self, request: &Request, to: &mut impl Write) -> io::Result<bool> {
        match self.body.clone() {
            Body::Whole(content) => {
                self.head(to, self.status, &[("content-length", content.len().to_string())])?;
                to.write_all(&content).map(|()| true)
            }
            Body::File(file) => self.part(request, to, &file, file.len()).map(|()| true),
            Body::Cut { file, sent } => self.part(request, to, &file, sent).map(|()| false),
            Body::Chunked(content) => {
                self.head(to, self.status, &[("transfer-encoding", "chunked".to_owned())])?;
                for piece in content.chunks(1000) {
                    write!(to, "{:x}\r\n", piece.len())?;
                    to.write_all(piece)?;
                    to.write_all(b"\r\n")?;
                }
                to.write_all(b"0\r\n\r\n").map(|()| true)
            }
            Body::UntilClose(content) => {
                self.head(to, self.status, &[("connection", "close".to_owned())])?;
                to.write_all(&content).map(|()| false)
            }
            Body::Endless => {
                self.head(to, self.status, &[("transfer-encoding", "chunked".to_owned())])?;
                let piece = [b'x'; 0x1000];
                loop {
                    to.write_all(b"1000\r\n")?;
                    to.write_all(&piece)?;
                    to.write_all(b"\r\n")?;
                }
            }
            Body::Stalled(content) => {
                self.head(to, self.status, &[("content-length", (content.len() + 1).to_string())])?;
                to.write_all(&content)?;
                wait(to)
            }
            Body::Silent => wait(to),
            Body::HangUp => Ok(false),
        }
    }

    fn head(&self, to: &mut impl Write, status: u16, more: &[(&str, String)]) -> io::Result<()> {
        write!(to, "HTTP/1.1 {status} Answer\r\n")?;
        for (name, value) in &self.headers {
            write!(to, "{name}: {value}\r\n")?;
        }
        for (name, value) in more {
            write!(to, "{name}: {value}\r\n")?;
        }
        to.write_all(b"\r\n")
    }

    /// The part that is asked for, if it is asked for this version; of it at most `sent` bytes.
    fn part(&self, request: &Request, to: &mut impl Write, file: &[u8], sent: usize) -> io::Result<()> {
        let tag = self.headers.iter().find(|(name, _)| name == "etag").map(|(_, tag)| tag.as_str());
        let range =
            request.range().filter(|_| request.header("if-range").is_none_or(|wanted| Some(wanted) == tag));
        let (start, end) = match range {
            Some((start, end)) => {
                let start = usize::try_from(start).unwrap_or(usize::MAX);
                let end =
                    end.and_then(|end| usize::try_from(end + 1).ok()).unwrap_or(file.len()).min(file.len());
                if start >= end {
                    return self.head(to, 416, &[("content-length", "0".to_owned())]);
                }
                (start, end)
            }
            None => (0, file.len()),
        };
        let mut headers =
            vec![("content-length", (end - start).to_string()), ("accept-ranges", "bytes".to_owned())];
        if range.is_some() {
            headers.push(("content-range", format!("bytes {start}-{}/{}", end - 1, file.len())));
        }
        self.head(to, if range.is_some() { 206 } else { self.status }, &headers)?;
        if request.method == "HEAD" {
            return Ok(());
        }
        to.write_all(&file[start..end.min(start.saturating_add(sent))])
    }
}

/// Keeps the connection open and says nothing, until the client or the server ends it. A byte too early would be
/// noticed, so whether the connection stands is only looked at now and then.
fn wait(to: &mut impl Write) -> io::Result<bool> {
    to.flush()?;
    std::thread::park_timeout(Duration::from_mins(10));
    Ok(false)
}
