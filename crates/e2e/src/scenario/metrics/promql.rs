//! Finds the names of metrics in a `PromQL` expression, without parsing the rest. Pure.
//!
//! A name that is followed by parentheses is a function, and one in braces, brackets, quotes or the list of a grouping is
//! not a metric. `promtool` checks elsewhere that expressions are valid.

use std::collections::BTreeSet;

/// Keywords that are followed by a list of labels.
const GROUPING: [&str; 6] = ["by", "without", "on", "ignoring", "group_left", "group_right"];

/// Keywords that are not metrics.
const OPERATORS: [&str; 8] = ["and", "or", "unless", "atan2", "bool", "offset", "inf", "nan"];

pub(super) fn metrics(expression: &str) -> BTreeSet<String> {
    let bare = bare(expression);
    let mut names = BTreeSet::new();
    let mut rest = bare.as_str();
    while let Some(start) = rest.find(is_first) {
        // The letters of 5m or 1e3 are not the start of a word.
        let glued = rest[..start].ends_with(|c: char| c.is_ascii_digit() || c == '.');
        let end = rest[start..].find(|c| !is_next(c)).map_or(rest.len(), |length| start + length);
        let word = &rest[start..end];
        rest = rest[end..].trim_start();
        if GROUPING.contains(&word) {
            rest =
                rest.strip_prefix('(').and_then(|list| list.split_once(')')).map_or(rest, |(_, after)| after);
            continue;
        }
        let next = rest.split(|c| !is_next(c)).next().unwrap_or_default();
        let called = rest.starts_with('(') || ["by", "without"].contains(&next);
        if !glued && !called && !OPERATORS.contains(&word) {
            names.insert(word.to_owned());
        }
    }
    names
}

/// The expression without quoted, braced and bracketed parts.
fn bare(expression: &str) -> String {
    let (mut text, mut depth, mut quote, mut escaped) = (String::new(), 0_u32, None, false);
    for c in expression.chars() {
        match (quote, c) {
            (Some(_), _) if escaped => escaped = false,
            (Some('"' | '\''), '\\') => escaped = true,
            (Some(open), _) if c == open => quote = None,
            (None, '"' | '\'' | '`') => quote = Some(c),
            (None, '{' | '[') => depth += 1,
            (None, '}' | ']') => depth = depth.saturating_sub(1),
            (None, _) if depth == 0 => text.push(c),
            _ => {}
        }
    }
    text
}

fn is_first(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || c == ':'
}

fn is_next(c: char) -> bool {
    is_first(c) || c.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::bare("vmafx_up", &["vmafx_up"])]
    #[case::selected(r#"a{b="c",d=~"e|f}"} > 1e3"#, &["a"])]
    #[case::quoted(r#"a{b="\"c"} + d"#, &["a", "d"])]
    #[case::functions("histogram_quantile(0.5, sum by (le) (rate(a_bucket[5m])))", &["a_bucket"])]
    #[case::grouping_after("sum(a) by (b, c) / on(d) group_left(e) f", &["a", "f"])]
    #[case::aggregation_with_a_space("sum (a)", &["a"])]
    #[case::operators("max(a) == 0 and max(b) > 0 unless c or d", &["a", "b", "c", "d"])]
    #[case::durations("rate(a[5m] offset 1h30m)", &["a"])]
    #[case::recorded("job:a:rate5m", &["job:a:rate5m"])]
    #[case::bool("a > bool 1", &["a"])]
    #[case::dashboards("label_values(a", &["a"])]
    fn names_of_metrics_are_found(#[case] expression: &str, #[case] expected: &[&str]) {
        assert_eq!(metrics(expression).into_iter().collect::<Vec<_>>(), expected);
    }
}
