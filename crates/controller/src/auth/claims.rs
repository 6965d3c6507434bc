//! What a token says, once it is known to be said by its issuer.

use serde_json::{Map, Value};

use super::cause::Outcome;
use crate::identity::{Role, Roles};

/// Clocks of others may differ by this many seconds.
pub(super) const LEEWAY: i64 = 30;

/// The claims of a token whose signature is good.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Claims(pub(super) Map<String, Value>);

/// When a token is good, in seconds, leeway included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    from: i64,
    until: i64,
}

impl Window {
    /// Whether this second is inside.
    pub(super) fn check(self, second: i64) -> Result<(), Outcome> {
        if second >= self.until {
            return Err(Outcome::Expired);
        }
        if second < self.from { Err(Outcome::Premature) } else { Ok(()) }
    }
}

/// Roles as a token tells them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// Nothing is said of roles.
    Nothing,
    /// These are ours among those that are named; perhaps none.
    Roles(Roles),
}

impl Claims {
    /// A claim that is text.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }

    /// Whom the token is about.
    pub(super) fn subject(&self) -> &str {
        self.text("sub").unwrap_or_default()
    }

    /// When the token is good. It must end; it may begin.
    pub(super) fn window(&self) -> Result<Window, Outcome> {
        let until = self.seconds("exp")?.ok_or(Outcome::Expired)?;
        let from = self.seconds("nbf")?.unwrap_or(i64::MIN);
        Ok(Window { from: from.saturating_sub(LEEWAY), until: until.saturating_add(LEEWAY) })
    }

    /// Whether the token is for `audience`, which is one of those it names.
    pub(super) fn is_for(&self, audience: &str) -> bool {
        match self.0.get("aud") {
            Some(Value::String(one)) => one == audience,
            Some(Value::Array(several)) => several.iter().any(|one| one.as_str() == Some(audience)),
            _ => false,
        }
    }

    /// The roles in a claim that is a name, several names with spaces between, or a list of names.
    pub(super) fn roles(&self, claim: &str) -> Told {
        match self.0.get(claim) {
            Some(Value::String(names)) if !names.trim().is_empty() => {
                Told::Roles(names.split_whitespace().filter_map(Role::from_name).collect())
            }
            Some(Value::Array(names)) if !names.is_empty() => {
                Told::Roles(names.iter().filter_map(|name| Role::from_name(name.as_str()?)).collect())
            }
            _ => Told::Nothing,
        }
    }

    /// A time, which may have a fraction. What is there and is no time spoils the token.
    fn seconds(&self, name: &str) -> Result<Option<i64>, Outcome> {
        let Some(value) = self.0.get(name) else { return Ok(None) };
        #[expect(clippy::cast_possible_truncation, reason = "a cast of a float saturates")]
        let seconds = value.as_i64().or_else(|| value.as_f64().map(|seconds| seconds.floor() as i64));
        seconds.map(Some).ok_or(Outcome::Malformed)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn claims(value: Value) -> Claims {
        Claims(serde_json::from_value(value).unwrap())
    }

    #[rstest]
    #[case::absent(json!({}), Told::Nothing)]
    #[case::null(json!({"r": null}), Told::Nothing)]
    #[case::number(json!({"r": 7}), Told::Nothing)]
    #[case::empty_list(json!({"r": []}), Told::Nothing)]
    #[case::empty_text(json!({"r": " "}), Told::Nothing)]
    #[case::text(json!({"r": "vmafx:node"}), Told::Roles(Roles::of(&[Role::Node])))]
    #[case::words(json!({"r": "vmafx:reader x vmafx:writer"}), Told::Roles(Roles::of(&[Role::Reader, Role::Writer])))]
    #[case::list(json!({"r": ["vmafx:admin", 7, "x"]}), Told::Roles(Roles::of(&[Role::Admin])))]
    #[case::unknown(json!({"r": "root"}), Told::Roles(Roles::NONE))]
    fn roles_are_a_name_or_a_list(#[case] value: Value, #[case] expected: Told) {
        assert_eq!(claims(value).roles("r"), expected);
    }

    #[rstest]
    #[case::inside(json!({"exp": 1000, "nbf": 900}), 950, Ok(()))]
    #[case::just_over(json!({"exp": 1000}), 1029, Ok(()))]
    #[case::over(json!({"exp": 1000}), 1030, Err(Outcome::Expired))]
    #[case::just_before(json!({"exp": 1000, "nbf": 900}), 870, Ok(()))]
    #[case::before(json!({"exp": 1000, "nbf": 900}), 869, Err(Outcome::Premature))]
    #[case::without_end(json!({}), 0, Err(Outcome::Expired))]
    #[case::end_as_text(json!({"exp": "1000"}), 0, Err(Outcome::Malformed))]
    #[case::begin_as_text(json!({"exp": 1000, "nbf": "0"}), 0, Err(Outcome::Malformed))]
    #[case::fraction(json!({"exp": 1000.9}), 1029, Ok(()))]
    #[case::far_away(json!({"exp": 1e300}), 1_000_000, Ok(()))]
    #[case::far_back(json!({"exp": -1e300}), 0, Err(Outcome::Expired))]
    fn a_token_has_its_time(
        #[case] value: Value,
        #[case] second: i64,
        #[case] expected: Result<(), Outcome>,
    ) {
        assert_eq!(claims(value).window().and_then(|window| window.check(second)), expected);
    }

    #[rstest]
    #[case::text(json!({"aud": "us"}), true)]
    #[case::list(json!({"aud": ["them", "us"]}), true)]
    #[case::part(json!({"aud": "us too"}), false)]
    #[case::absent(json!({}), false)]
    fn an_audience_is_named_whole(#[case] value: Value, #[case] expected: bool) {
        assert_eq!(claims(value).is_for("us"), expected);
    }
}
