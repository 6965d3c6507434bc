//! What the kernels for contrasts share.

/// The sums of a row of cubed contrasts. The functions that it calls are those of the instruction set, where it is used.
macro_rules! contrast {
    ($lanes:literal, $weights:ident, $shifts:ident, $length:ident, $bands:ident, $shares:ident, $excesses:ident, $weighted:path) => {{
        let count = $length.div_ceil($lanes);
        let shares = $shares.map(|row| vectors::<$lanes, _>(row, count + 1));
        let excesses = vectors::<$lanes, _>($excesses, count);
        let [horizontal, vertical, diagonal] = $bands.map(|band| vectors::<$lanes, _>(band, count));
        let cubes = [Cubes::new($shifts, 0), Cubes::new($shifts, 1), Cubes::new($shifts, 2)];
        let weights = [splat($weights[0]), splat($weights[1]), splat($weights[2])];
        let mut sums = [splat(0); 3];
        let mut next = columns(shares, 0);
        for x in 0..count {
            let current = next;
            next = columns(shares, x + 1);
            let threshold = threshold(current, next, &excesses[x]);
            let inside = first_lanes($length - $lanes * x);
            for (band, coefficients) in [&horizontal[x], &vertical[x], &diagonal[x]].into_iter().enumerate() {
                let weighted = $weighted(coefficients, weights[band]);
                sums[band] = cubes[band].add(weighted, threshold, inside, sums[band]);
            }
        }
        [sum64(sums[0]), sum64(sums[1]), sum64(sums[2])]
    }};
}

pub(super) use contrast;
