//! Rows as vectors.

/// `count` vectors of a row that is long enough for them.
pub(crate) fn vectors<const LANES: usize, T>(row: &[T], count: usize) -> &[[T; LANES]] {
    &row.as_chunks().0[..count]
}

pub(crate) fn vectors_mut<const LANES: usize, T>(row: &mut [T], count: usize) -> &mut [[T; LANES]] {
    &mut row.as_chunks_mut().0[..count]
}

/// Splits rows into vectors, of which the last one may overlap the one before it.
macro_rules! for_each_vector {
    ($lanes:literal, $rows:ident, $low:ident, $high:ident, |$inputs:ident, $outputs:ident| $body:expr) => {{
        let length = $rows[0].len();
        let count = length / $lanes;
        let [a, b, c, d] = $rows.map(|row| vectors::<$lanes, _>(row, count));
        let (low, high) = (vectors_mut::<$lanes, _>($low, count), vectors_mut::<$lanes, _>($high, count));
        for x in 0..count {
            let $inputs = [&a[x], &b[x], &c[x], &d[x]];
            let $outputs = [&mut low[x], &mut high[x]];
            $body;
        }
        let [a, b, c, d] = $rows.map(|row| row.last_chunk::<$lanes>());
        let outputs = [$low[..length].last_chunk_mut::<$lanes>(), $high[..length].last_chunk_mut::<$lanes>()];
        if let ([Some(a), Some(b), Some(c), Some(d)], [Some(low), Some(high)]) = ([a, b, c, d], outputs) {
            let $inputs = [a, b, c, d];
            let $outputs = [low, high];
            $body;
        }
    }};
}

pub(crate) use for_each_vector;
