//! The deadline of a call.

use std::time::Duration;

use http::{HeaderMap, HeaderValue};

const HEADER: &str = "grpc-timeout";

/// Marks a request whose response is a long-lived stream. See [`streaming`].
#[derive(Clone, Copy, Debug)]
pub struct StreamingCall;

/// A request whose response is a stream: its deadline applies until the headers arrive. A streaming call made
/// without this fails at its deadline, which is noticed; the opposite default would let a stuck call wait for ever.
pub fn streaming<T>(message: T) -> tonic::Request<T> {
    let mut request = tonic::Request::new(message);
    request.extensions_mut().insert(StreamingCall);
    request
}

/// Marks a request that may be processed twice. See [`repeatable`].
#[derive(Clone, Copy, Debug)]
pub struct RepeatableCall;

/// A request that has the same effect when it is processed twice. The channel sends it again, to another server if there
/// is one, when it does not know whether the first server processed it.
pub fn repeatable<T>(message: T) -> tonic::Request<T> {
    let mut request = tonic::Request::new(message);
    request.extensions_mut().insert(RepeatableCall);
    request
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Deadline {
    pub(super) after: Duration,
    /// Whether the deadline applies to the whole response, or only until its headers arrive.
    pub(super) covers_body: bool,
}

impl Deadline {
    /// The deadline of a request, which is also written into its headers. A stream gets no such header unless its
    /// caller set one, because the server would end the stream at that time.
    pub(super) fn of<B>(request: &mut http::Request<B>, default: Duration) -> Self {
        let covers_body = request.extensions().get::<StreamingCall>().is_none();
        let own = requested_timeout(request.headers());
        if own.is_none() && covers_body {
            insert_timeout(request.headers_mut(), default);
        }
        Self { after: own.unwrap_or(default), covers_body }
    }
}

/// The timeout that the caller set.
pub(crate) fn requested_timeout(headers: &HeaderMap) -> Option<Duration> {
    headers.get(HEADER).and_then(|value| parse_timeout(value.to_str().ok()?))
}

/// Parses gRPC's notation: up to eight digits and a unit.
fn parse_timeout(text: &str) -> Option<Duration> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if number.len() > 8 {
        return None;
    }
    let number: u64 = number.parse().ok()?;
    match unit {
        "H" => Some(Duration::from_secs(number * 3600)),
        "M" => Some(Duration::from_secs(number * 60)),
        "S" => Some(Duration::from_secs(number)),
        "m" => Some(Duration::from_millis(number)),
        "u" => Some(Duration::from_micros(number)),
        "n" => Some(Duration::from_nanos(number)),
        _ => None,
    }
}

fn insert_timeout(headers: &mut HeaderMap, deadline: Duration) {
    const MAX_VALUE: u128 = 99_999_999;
    // Rounded up: a deadline of less than a millisecond must not become zero.
    let milliseconds = deadline.as_nanos().div_ceil(1_000_000);
    let text = if milliseconds <= MAX_VALUE {
        format!("{milliseconds}m")
    } else {
        format!("{}S", deadline.as_secs().min(99_999_999))
    };
    if let Ok(value) = HeaderValue::from_str(&text) {
        headers.insert(HEADER, value);
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const DEFAULT: Duration = Duration::from_secs(10);

    fn request(timeout: Option<&'static str>, stream: bool) -> http::Request<()> {
        let mut request = http::Request::new(());
        if let Some(timeout) = timeout {
            request.headers_mut().insert(HEADER, HeaderValue::from_static(timeout));
        }
        if stream {
            request.extensions_mut().insert(StreamingCall);
        }
        request
    }

    #[rstest]
    #[case::default_and_the_server_is_told(None, false, DEFAULT, true, Some("10000m"))]
    #[case::own_timeout_wins(Some("2S"), false, Duration::from_secs(2), true, Some("2S"))]
    #[case::longer_ones_too(Some("1M"), false, Duration::from_mins(1), true, Some("1M"))]
    #[case::a_stream_is_timed_to_its_headers(None, true, DEFAULT, false, None)]
    #[case::a_stream_with_a_limit_keeps_it(Some("1H"), true, Duration::from_hours(1), false, Some("1H"))]
    #[case::garbage_is_replaced(Some("soon"), false, DEFAULT, true, Some("10000m"))]
    fn every_request_gets_a_deadline(
        #[case] header: Option<&'static str>,
        #[case] stream: bool,
        #[case] after: Duration,
        #[case] covers_body: bool,
        #[case] sent: Option<&str>,
    ) {
        let mut request = request(header, stream);
        assert_eq!(Deadline::of(&mut request, DEFAULT), Deadline { after, covers_body });
        assert_eq!(request.headers().get(HEADER).map(|value| value.to_str().unwrap()), sent);
    }

    #[rstest]
    #[case(Duration::from_nanos(1), "1m")]
    #[case(Duration::from_hours(27), "97200000m")]
    #[case(Duration::from_hours(28), "100800S")]
    #[case(Duration::MAX, "99999999S")]
    fn the_header_never_has_more_than_eight_digits(#[case] deadline: Duration, #[case] expected: &str) {
        let mut headers = HeaderMap::new();
        insert_timeout(&mut headers, deadline);
        assert_eq!(headers[HEADER], expected);
    }

    #[test]
    fn reads_what_tonic_writes() {
        let mut request = tonic::Request::new(());
        request.set_timeout(Duration::from_millis(1500));
        let value = request.metadata().get(HEADER).unwrap().to_str().unwrap();
        assert_eq!(parse_timeout(value), Some(Duration::from_millis(1500)));
    }
}
