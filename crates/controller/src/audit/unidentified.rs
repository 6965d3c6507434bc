//! The limit of lines about callers without a valid token, who could otherwise fill the volume of the log.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const LINES_PER_WINDOW: u32 = 10;
const WINDOW: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(super) struct UnidentifiedCalls(Mutex<Window>);

#[derive(Debug, Default)]
struct Window {
    began: Option<Instant>,
    lines: u32,
    /// Calls without a line since the last one with a line.
    omitted: u64,
}

impl UnidentifiedCalls {
    /// The number of calls without a line before this one, or `None` if this one has none either.
    pub(super) fn admit(&self, now: Instant) -> Option<u64> {
        let mut window = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if window.began.is_none_or(|began| now.saturating_duration_since(began) >= WINDOW) {
            window.began = Some(now);
            window.lines = 0;
        }
        if window.lines == LINES_PER_WINDOW {
            window.omitted = window.omitted.saturating_add(1);
            return None;
        }
        window.lines += 1;
        Some(std::mem::take(&mut window.omitted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_get_ten_lines_a_second_and_the_rest_is_counted() {
        let (calls, start) = (UnidentifiedCalls::default(), Instant::now());
        let admitted: Vec<_> = (0..13).map(|_| calls.admit(start)).collect();
        assert_eq!(admitted, [vec![Some(0); 10], vec![None; 3]].concat());
        assert_eq!(calls.admit(start + WINDOW.saturating_sub(Duration::from_nanos(1))), None);
        assert_eq!(calls.admit(start + WINDOW), Some(4));
        assert_eq!(calls.admit(start + WINDOW), Some(0));
    }
}
