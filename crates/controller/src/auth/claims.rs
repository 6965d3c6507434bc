//! The claims of a token whose signature has been verified.

use serde_json::{Map, Value};

use super::outcome::AuthOutcome;
use crate::identity::{Role, Roles};

/// How far the controller's clock may be ahead of the issuer's, in seconds: a token is accepted for that much longer.
pub(super) const LEEWAY: i64 = 30;

/// How far it may be behind, in seconds. Issuers sign tokens for immediate use, so a token from the future means that this
/// clock was set back, and to refuse it would lock out every caller.
const LEEWAY_BEHIND: i64 = 3600;

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Claims(pub(super) Map<String, Value>);

/// Unix seconds between which a token is valid, leeway included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ValidityPeriod {
    from: i64,
    until: i64,
}

impl ValidityPeriod {
    pub(super) fn check(self, now: i64) -> Result<(), AuthOutcome> {
        if now >= self.until {
            return Err(AuthOutcome::Expired);
        }
        if now < self.from { Err(AuthOutcome::Premature) } else { Ok(()) }
    }

    /// The end that the token states.
    pub(super) fn expires_at(self) -> i64 {
        self.until.saturating_sub(LEEWAY)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RoleClaim {
    Absent,
    /// The known roles among those that the token names; possibly none.
    Roles(Roles),
}

impl Claims {
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }

    pub(super) fn subject(&self) -> &str {
        self.text("sub").unwrap_or_default()
    }

    /// `exp` is required, `nbf` is optional.
    pub(super) fn validity(&self) -> Result<ValidityPeriod, AuthOutcome> {
        let until = self.seconds("exp")?.ok_or(AuthOutcome::Expired)?;
        let from = self.seconds("nbf")?.unwrap_or(i64::MIN);
        Ok(ValidityPeriod { from: from.saturating_sub(LEEWAY_BEHIND), until: until.saturating_add(LEEWAY) })
    }

    pub(super) fn is_for(&self, audience: &str) -> bool {
        match self.0.get("aud") {
            Some(Value::String(one)) => one == audience,
            Some(Value::Array(several)) => several.iter().any(|one| one.as_str() == Some(audience)),
            _ => false,
        }
    }

    /// The claim is a string of names separated by spaces, or an array of names.
    pub(super) fn roles(&self, claim: &str) -> RoleClaim {
        match self.0.get(claim) {
            Some(Value::String(names)) if !names.trim().is_empty() => {
                RoleClaim::Roles(names.split_whitespace().filter_map(Role::from_name).collect())
            }
            Some(Value::Array(names)) if !names.is_empty() => {
                RoleClaim::Roles(names.iter().filter_map(|name| Role::from_name(name.as_str()?)).collect())
            }
            _ => RoleClaim::Absent,
        }
    }

    /// A time may have a fraction. A claim that is present and not a number invalidates the token.
    fn seconds(&self, name: &str) -> Result<Option<i64>, AuthOutcome> {
        let Some(value) = self.0.get(name) else { return Ok(None) };
        #[expect(clippy::cast_possible_truncation, reason = "a cast of a float saturates")]
        let seconds = value.as_i64().or_else(|| value.as_f64().map(|seconds| seconds.floor() as i64));
        seconds.map(Some).ok_or(AuthOutcome::Malformed)
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
    #[case::absent(json!({}), RoleClaim::Absent)]
    #[case::null(json!({"r": null}), RoleClaim::Absent)]
    #[case::number(json!({"r": 7}), RoleClaim::Absent)]
    #[case::empty_list(json!({"r": []}), RoleClaim::Absent)]
    #[case::empty_text(json!({"r": " "}), RoleClaim::Absent)]
    #[case::text(json!({"r": "vmafx:node"}), RoleClaim::Roles(Roles::of(&[Role::Node])))]
    #[case::words(json!({"r": "vmafx:reader x vmafx:writer"}), RoleClaim::Roles(Roles::of(&[Role::Reader, Role::Writer])))]
    #[case::list(json!({"r": ["vmafx:admin", 7, "x"]}), RoleClaim::Roles(Roles::of(&[Role::Admin])))]
    #[case::unknown(json!({"r": "root"}), RoleClaim::Roles(Roles::NONE))]
    fn roles_are_a_name_or_a_list(#[case] value: Value, #[case] expected: RoleClaim) {
        assert_eq!(claims(value).roles("r"), expected);
    }

    #[rstest]
    #[case::inside(json!({"exp": 1000, "nbf": 900}), 950, Ok(()))]
    #[case::just_over(json!({"exp": 1000}), 1029, Ok(()))]
    #[case::over(json!({"exp": 1000}), 1030, Err(AuthOutcome::Expired))]
    #[case::clock_set_back(json!({"exp": 10_000, "nbf": 9000}), 5400, Ok(()))]
    #[case::before(json!({"exp": 10_000, "nbf": 9000}), 5399, Err(AuthOutcome::Premature))]
    #[case::without_end(json!({}), 0, Err(AuthOutcome::Expired))]
    #[case::end_as_text(json!({"exp": "1000"}), 0, Err(AuthOutcome::Malformed))]
    #[case::begin_as_text(json!({"exp": 1000, "nbf": "0"}), 0, Err(AuthOutcome::Malformed))]
    #[case::fraction(json!({"exp": 1000.9}), 1029, Ok(()))]
    #[case::far_away(json!({"exp": 1e300}), 1_000_000, Ok(()))]
    #[case::far_back(json!({"exp": -1e300}), 0, Err(AuthOutcome::Expired))]
    fn a_token_has_its_time(
        #[case] value: Value,
        #[case] second: i64,
        #[case] expected: Result<(), AuthOutcome>,
    ) {
        assert_eq!(claims(value).validity().and_then(|validity| validity.check(second)), expected);
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
