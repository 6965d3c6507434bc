use http::HeaderMap;
use http::header::AUTHORIZATION;

/// Returns the bearer token if the request has exactly one `Authorization` header.
pub(crate) fn token(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = values.next()?.to_str().ok()?;
    if values.next().is_some() {
        return None;
    }
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::one(&["Bearer abc"], Some("abc"))]
    #[case::other_case(&["bearer  abc "], Some("abc"))]
    #[case::none(&[], None)]
    #[case::empty(&["Bearer "], None)]
    #[case::no_scheme(&["abc"], None)]
    #[case::basic(&["Basic abc"], None)]
    #[case::two(&["Bearer abc", "Bearer abc"], None)]
    fn there_is_one_token_or_none(#[case] values: &[&str], #[case] expected: Option<&str>) {
        let headers = values.iter().map(|value| (AUTHORIZATION, value.parse().unwrap())).collect();
        assert_eq!(token(&headers), expected);
    }
}
