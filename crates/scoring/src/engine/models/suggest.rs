//! Suggestions for a misspelt name.

const MAX_SUGGESTIONS: usize = 3;

/// The names with the smallest edit distance, the nearest first.
pub(super) fn nearest(wrong: &str, names: impl Iterator<Item = &'static str>) -> Vec<&'static str> {
    let wrong = wrong.to_ascii_lowercase();
    let mut by_distance: Vec<_> = names.map(|name| (distance(&wrong, name), name)).collect();
    by_distance.sort_by_key(|(distance, _)| *distance);
    let best = by_distance.first().map_or(0, |(distance, _)| *distance);
    // Names that are much less similar than the best one are left out.
    by_distance
        .into_iter()
        .take_while(|(distance, _)| *distance <= best + 1)
        .map(|(_, name)| name)
        .take(MAX_SUGGESTIONS)
        .collect()
}

/// The Levenshtein distance: characters to be inserted, deleted or replaced.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, right) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(left != *right);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_mistake_finds_the_name() {
        let names = ["vmaf_v0.6.1", "vmaf_v0.6.1neg", "vmaf_4k_v0.6.1"];
        assert_eq!(nearest("vmaf_v061", names.into_iter())[0], "vmaf_v0.6.1");
        assert_eq!(nearest("VMAF_4K_v0.6.1", names.into_iter()), ["vmaf_4k_v0.6.1"]);
        assert_eq!(nearest("vmaf_v0.6.1neq", names.into_iter()), ["vmaf_v0.6.1neg"]);
    }
}
