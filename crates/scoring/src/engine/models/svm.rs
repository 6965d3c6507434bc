//! The support vector machine inside a model: libsvm's text format, as far as VMAF uses it.
//!
//! Checked here because libvmaf's parser does not: it takes `nan`, sizes its tables by what the header claims, and ends a
//! vector at an index of -1 wherever that stands.

/// What is wrong with the text of a machine that looks at `features` features; nothing if it can be used.
pub(super) fn problem(text: &str, features: usize) -> Option<String> {
    check(text, features).err()
}

fn check(text: &str, features: usize) -> Result<(), String> {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    // The order matters: libvmaf allocates by `nr_class` what follows it.
    expect(&mut lines, "svm_type", |value| value == "nu_svr" || value == "epsilon_svr")?;
    expect(&mut lines, "kernel_type", |value| value == "rbf")?;
    expect(&mut lines, "gamma", |value| number(value).is_some_and(|gamma| gamma >= 0.0))?;
    expect(&mut lines, "nr_class", |value| value == "2")?;
    let total = expect(&mut lines, "total_sv", |value| value.parse::<u32>().is_ok_and(|total| total > 0))?;
    expect(&mut lines, "rho", |value| number(value).is_some())?;
    if lines.next() != Some("SV") {
        return Err("the support vectors are missing".to_owned());
    }
    let mut count: u32 = 0;
    for line in lines {
        count += 1;
        vector(line, features).map_err(|problem| format!("support vector {count} {problem}"))?;
    }
    if total.parse() == Ok(count) {
        Ok(())
    } else {
        Err(format!("it announces {total} support vectors and has {count}"))
    }
}

fn expect<'a>(
    lines: &mut impl Iterator<Item = &'a str>,
    key: &str,
    valid: impl Fn(&str) -> bool,
) -> Result<&'a str, String> {
    let line = lines.next().unwrap_or("");
    let value = line.strip_prefix(key).filter(|rest| rest.starts_with(' ')).map(str::trim);
    match value {
        Some(value) if valid(value) => Ok(value),
        _ => Err(format!("{key} is missing or not usable, there is {line:?}")),
    }
}

/// A weight, then `index:value` with indices that go up from 1.
fn vector(line: &str, features: usize) -> Result<(), String> {
    let mut words = line.split_ascii_whitespace();
    if words.next().and_then(number).is_none() {
        return Err("has a weight that is no number".to_owned());
    }
    let mut last = 0;
    for word in words {
        let pair =
            word.split_once(':').and_then(|(index, value)| Some((index.parse().ok()?, number(value)?)));
        match pair {
            Some((index, _)) if index > last && index <= features => last = index,
            _ => return Err(format!("has {word:?}, which is no value of a feature")),
        }
    }
    Ok(())
}

/// A number that can be computed with.
fn number(text: &str) -> Option<f64> {
    // Rust also takes "nan" and "infinity".
    text.parse::<f64>().ok().filter(|value| value.is_finite())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const GOOD: &str = "svm_type nu_svr\nkernel_type rbf\ngamma 0.04\nnr_class 2\ntotal_sv 2\nrho -1.3\nSV\n-4 1:0.5 2:0.25 \n4 1:1e-3 2:0\n";

    #[test]
    fn a_machine_as_libsvm_writes_it_is_taken() {
        assert_eq!(problem(GOOD, 2), None);
    }

    #[rstest]
    #[case::nan_value("1:0.5", "1:nan")]
    #[case::infinite_weight("-4 1", "-inf 1")]
    #[case::nan_rho("rho -1.3", "rho nan")]
    #[case::index_that_ends_a_vector("2:0.25", "-1:0.25")]
    #[case::index_beyond_the_features("2:0.25", "3:0.25")]
    #[case::fewer_vectors_than_announced("total_sv 2", "total_sv 3")]
    #[case::more_vectors_than_announced("total_sv 2", "total_sv 1")]
    #[case::other_kernel("rbf", "precomputed")]
    #[case::more_classes("nr_class 2", "nr_class 3")]
    #[case::no_vectors("SV\n", "")]
    fn damage_is_found(#[case] good: &str, #[case] bad: &str) {
        assert!(problem(&GOOD.replacen(good, bad, 1), 2).is_some());
    }
}
