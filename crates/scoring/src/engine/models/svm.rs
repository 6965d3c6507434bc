//! The support vector machine of a model: libsvm's text format, as far as VMAF uses it.
//!
//! It is validated here because libvmaf's parser accepts `nan`, sizes its tables by the numbers in the header, and ends a
//! vector at an index of -1 anywhere.

/// A support vector machine with a radial kernel: `Σ weight · exp(−gamma · |x − vector|²) − rho`.
#[derive(Clone, Debug, PartialEq)]
pub struct SupportVectorMachine {
    /// libsvm's name for the kind of training: `nu_svr` or `epsilon_svr`. Prediction does not depend on it.
    pub kind: String,
    pub gamma: f64,
    pub rho: f64,
    /// One for each support vector.
    pub weights: Vec<f64>,
    /// The support vectors, each with a value for every feature; a value that the text omits is zero.
    pub vectors: Vec<Vec<f64>>,
}

impl SupportVectorMachine {
    /// Parses the text of a machine with `features` features. The error says what is wrong with it.
    pub fn parse(text: &str, features: usize) -> Result<Self, String> {
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        // The order matters, because libvmaf allocates memory by `nr_class` for the lines after it.
        let one_of = |value: &str| (value == "nu_svr" || value == "epsilon_svr").then(|| value.to_owned());
        let kind = expect(&mut lines, "svm_type", one_of)?;
        expect(&mut lines, "kernel_type", |value| (value == "rbf").then_some(()))?;
        let gamma = expect(&mut lines, "gamma", |value| number(value).filter(|gamma| *gamma >= 0.0))?;
        expect(&mut lines, "nr_class", |value| (value == "2").then_some(()))?;
        let total =
            expect(&mut lines, "total_sv", |value| value.parse::<u32>().ok().filter(|total| *total > 0))?;
        let rho = expect(&mut lines, "rho", number)?;
        if lines.next() != Some("SV") {
            return Err("the support vectors are missing".to_owned());
        }
        let (mut weights, mut vectors) = (Vec::new(), Vec::new());
        for line in lines {
            let (weight, vector) = vector(line, features)
                .map_err(|problem| format!("support vector {} {problem}", weights.len() + 1))?;
            weights.push(weight);
            vectors.push(vector);
        }
        if usize::try_from(total) == Ok(weights.len()) {
            Ok(Self { kind, gamma, rho, weights, vectors })
        } else {
            Err(format!("it announces {total} support vectors and has {}", weights.len()))
        }
    }
}

fn expect<'a, T>(
    lines: &mut impl Iterator<Item = &'a str>,
    key: &str,
    read: impl Fn(&str) -> Option<T>,
) -> Result<T, String> {
    let line = lines.next().unwrap_or("");
    let value = line.strip_prefix(key).filter(|rest| rest.starts_with(' ')).map(str::trim);
    value.and_then(read).ok_or_else(|| format!("{key} is missing or not usable in the line {line:?}"))
}

/// A weight, then pairs `index:value` with increasing indices from 1 on.
fn vector(line: &str, features: usize) -> Result<(f64, Vec<f64>), String> {
    let mut words = line.split_ascii_whitespace();
    let weight = words.next().and_then(number).ok_or("has a weight that is not a number")?;
    let mut values = vec![0.0; features];
    let mut last = 0;
    for word in words {
        let pair = word
            .split_once(':')
            .and_then(|(index, value)| Some((index.parse::<usize>().ok()?, number(value)?)))
            .filter(|(index, _)| *index > last && *index <= features);
        let (index, value) =
            pair.ok_or_else(|| format!("has {word:?}, which is not the value of a feature"))?;
        values[index - 1] = value;
        last = index;
    }
    Ok((weight, values))
}

/// A finite number.
fn number(text: &str) -> Option<f64> {
    // Rust also parses "nan" and "infinity".
    text.parse::<f64>().ok().filter(|value| value.is_finite())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const GOOD: &str = "svm_type nu_svr\nkernel_type rbf\ngamma 0.04\nnr_class 2\ntotal_sv 2\nrho -1.3\nSV\n-4 1:0.5 2:0.25 \n4 1:1e-3 2:0\n";

    #[test]
    fn a_machine_as_libsvm_writes_it_is_parsed() {
        let machine = SupportVectorMachine::parse(GOOD, 2).unwrap();
        assert_eq!((machine.kind.as_str(), machine.gamma, machine.rho), ("nu_svr", 0.04, -1.3));
        assert_eq!(machine.weights, [-4.0, 4.0]);
        assert_eq!(machine.vectors, [[0.5, 0.25], [1e-3, 0.0]]);
    }

    #[test]
    fn an_omitted_value_is_zero() {
        let machine = SupportVectorMachine::parse(&GOOD.replace("1:0.5 ", ""), 3).unwrap();
        assert_eq!(machine.vectors[0], [0.0, 0.25, 0.0]);
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
        assert!(SupportVectorMachine::parse(&GOOD.replacen(good, bad, 1), 2).is_err());
    }
}
