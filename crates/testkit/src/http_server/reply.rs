use std::io::{self, Write};
use std::time::Duration;

use super::HttpRequest;

/// A response, conforming or not.
#[derive(Clone, Debug)]
pub struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: ReplyBody,
}

#[derive(Clone, Debug)]
pub enum ReplyBody {
    /// This content with its length; ranges are served.
    File(Vec<u8>),
    /// This content with its length; ranges are ignored.
    Whole(Vec<u8>),
    /// This content in chunks, without a length.
    Chunked(Vec<u8>),
    /// This content without a length; the connection is closed after it.
    UntilClose(Vec<u8>),
    /// The first `sent` bytes of the declared content, then the connection is closed; ranges are served, each truncated
    /// again.
    Truncated {
        file: Vec<u8>,
        sent: usize,
    },
    Endless,
    /// Less content than declared, on a connection that stays open.
    Stalled(Vec<u8>),
    /// No response, on a connection that stays open.
    Silent,
    /// The connection is closed without a response.
    HangUp,
}

impl Reply {
    /// A status with an empty body.
    pub fn status(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: ReplyBody::Whole(Vec::new()) }
    }

    /// A file, whole or the requested range.
    pub fn file(content: impl Into<Vec<u8>>) -> Self {
        Self::body(ReplyBody::File(content.into()))
    }

    pub fn body(body: ReplyBody) -> Self {
        Self { status: 200, headers: Vec::new(), body }
    }

    pub fn redirect(to: impl Into<String>) -> Self {
        Self::status(302).header("location", to)
    }

    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    #[must_use]
    pub fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    #[must_use]
    pub fn etag(self, tag: &str) -> Self {
        self.header("etag", tag)
    }

    /// Sends the response; returns whether the connection may be used again.
    pub(super) fn send(self, request: &HttpRequest, to: &mut impl Write) -> io::Result<bool> {
        match self.body.clone() {
            ReplyBody::Whole(content) => {
                self.head(to, self.status, &[("content-length", content.len().to_string())])?;
                to.write_all(&content).map(|()| true)
            }
            ReplyBody::File(file) => self.send_range(request, to, &file, file.len()).map(|()| true),
            ReplyBody::Truncated { file, sent } => self.send_range(request, to, &file, sent).map(|()| false),
            ReplyBody::Chunked(content) => {
                self.head(to, self.status, &[("transfer-encoding", "chunked".to_owned())])?;
                for piece in content.chunks(1000) {
                    write!(to, "{:x}\r\n", piece.len())?;
                    to.write_all(piece)?;
                    to.write_all(b"\r\n")?;
                }
                to.write_all(b"0\r\n\r\n").map(|()| true)
            }
            ReplyBody::UntilClose(content) => {
                self.head(to, self.status, &[("connection", "close".to_owned())])?;
                to.write_all(&content).map(|()| false)
            }
            ReplyBody::Endless => {
                self.head(to, self.status, &[("transfer-encoding", "chunked".to_owned())])?;
                let piece = [b'x'; 0x1000];
                loop {
                    to.write_all(b"1000\r\n")?;
                    to.write_all(&piece)?;
                    to.write_all(b"\r\n")?;
                }
            }
            ReplyBody::Stalled(content) => {
                self.head(to, self.status, &[("content-length", (content.len() + 1).to_string())])?;
                to.write_all(&content)?;
                stall(to)
            }
            ReplyBody::Silent => stall(to),
            ReplyBody::HangUp => Ok(false),
        }
    }

    fn head(&self, to: &mut impl Write, status: u16, more: &[(&str, String)]) -> io::Result<()> {
        write!(to, "HTTP/1.1 {status} Test\r\n")?;
        for (name, value) in &self.headers {
            write!(to, "{name}: {value}\r\n")?;
        }
        for (name, value) in more {
            write!(to, "{name}: {value}\r\n")?;
        }
        to.write_all(b"\r\n")
    }

    /// Sends the requested range, if `If-Range` matches; at most `sent` bytes of it.
    fn send_range(
        &self,
        request: &HttpRequest,
        to: &mut impl Write,
        file: &[u8],
        sent: usize,
    ) -> io::Result<()> {
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

/// Keeps the connection open without sending anything.
fn stall(to: &mut impl Write) -> io::Result<bool> {
    to.flush()?;
    std::thread::park_timeout(Duration::from_mins(10));
    Ok(false)
}
