//! Lines of a bounded length.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

/// Bytes of a line. A thousand features fit in.
pub(super) const LONGEST: usize = 64 * 1024;

/// One line of a client.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// Without its end.
    Whole(Vec<u8>),
    /// Longer than it may be; it was read to its end and thrown away.
    TooLong,
}

/// The next line; `None` at the end. What is cut off by the end is a line too.
pub(super) async fn next(from: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<Line>> {
    let (mut line, mut too_long, mut any) = (Vec::new(), false, false);
    loop {
        let piece = from.fill_buf().await?;
        if piece.is_empty() {
            break;
        }
        any = true;
        let end = piece.iter().position(|&byte| byte == b'\n');
        let used = end.map_or(piece.len(), |end| end + 1);
        let content = &piece[..end.unwrap_or(piece.len())];
        if too_long || line.len() + content.len() > LONGEST {
            too_long = true;
            line = Vec::new();
        } else {
            line.extend_from_slice(content);
        }
        from.consume(used);
        if end.is_some() {
            break;
        }
    }
    Ok(any.then_some(if too_long { Line::TooLong } else { Line::Whole(line) }))
}

#[cfg(test)]
mod tests {
    use tokio::io::BufReader;

    use super::*;

    async fn lines(text: &[u8]) -> Vec<Line> {
        let mut reader = BufReader::with_capacity(7, text);
        let mut all = Vec::new();
        while let Some(line) = next(&mut reader).await.unwrap() {
            all.push(line);
        }
        all
    }

    #[tokio::test]
    async fn lines_come_whole_whatever_pieces_they_arrive_in() {
        let whole = |text: &str| Line::Whole(text.into());
        assert_eq!(
            lines(b"one\n\ntwo and more\nrest").await,
            [whole("one"), whole(""), whole("two and more"), whole("rest")]
        );
        assert_eq!(lines(b"").await, []);
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_read_over_and_the_next_one_is_good() {
        let just = [&vec![b'a'; LONGEST][..], b"\n"].concat();
        let over = [&vec![b'a'; LONGEST + 1][..], b"\nnext\n"].concat();
        assert_eq!(lines(&just).await, [Line::Whole(vec![b'a'; LONGEST])]);
        assert_eq!(lines(&over).await, [Line::TooLong, Line::Whole("next".into())]);
    }
}
