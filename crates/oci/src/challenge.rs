//! The authentication that a registry asks for.

/// The value of `WWW-Authenticate`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Challenge {
    Basic,
    /// A token from the server at `realm`.
    Bearer {
        realm: String,
        service: Option<String>,
    },
}

impl Challenge {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (scheme, rest) = text.split_once(' ').unwrap_or((text, ""));
        if scheme.eq_ignore_ascii_case("basic") {
            return Some(Self::Basic);
        }
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let parameters = parameters(rest);
        let get = |name: &str| {
            let parameter = parameters.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
            parameter.map(|(_, value)| value.clone())
        };
        Some(Self::Bearer { realm: get("realm")?, service: get("service") })
    }
}

/// Parses `a="b, c",d=e`.
fn parameters(mut text: &str) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    while let Some((name, rest)) = text.split_once('=') {
        let name = name.trim_matches(|c: char| c == ',' || c.is_whitespace()).to_owned();
        let (value, after) = match rest.trim_start().strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => rest.split_once(',').unwrap_or((rest, "")),
        };
        pairs.push((name, value.trim().to_owned()));
        text = after;
    }
    pairs
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn bearer(realm: &str, service: Option<&str>) -> Challenge {
        Challenge::Bearer { realm: realm.into(), service: service.map(Into::into) }
    }

    #[rstest]
    #[case(r#"Basic realm="x""#, Some(Challenge::Basic))]
    #[case(
        r#"Bearer realm="https://a/t",service="s",scope="repository:a:pull,push""#,
        Some(bearer("https://a/t", Some("s")))
    )]
    #[case(r#"bearer service=s, Realm="https://a/t?x=y""#, Some(bearer("https://a/t?x=y", Some("s"))))]
    #[case(r#"Bearer realm="https://a/t"#, Some(bearer("https://a/t", None)))]
    #[case("Bearer service=s", None)]
    #[case("Negotiate", None)]
    #[case("", None)]
    fn reads_what_registries_send(#[case] text: &str, #[case] expected: Option<Challenge>) {
        assert_eq!(Challenge::parse(text), expected);
    }
}
