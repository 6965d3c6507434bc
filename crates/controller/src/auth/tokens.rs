//! Tokens that are known beforehand: one machine, no issuer.
//!
//! ```yaml
//! tokens:
//!   - sha256: 2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae   # or `token:`, as it is
//!     tenant: local
//!     roles: [vmafx:writer, vmafx:node]
//!     subject: laptop
//! ```

use std::fmt;

use serde::Deserialize;
use subtle::ConstantTimeEq;
use vmafx_queue::TenantId;

use super::verified::{Fingerprint, fingerprint};
use crate::identity::{Identity, Role, Roles};

/// Each call is held against every one of them.
const MOST: usize = 256;
/// Shorter ones can be guessed.
const SHORTEST: usize = 16;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    tokens: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    token: Option<String>,
    sha256: Option<String>,
    tenant: String,
    roles: Vec<String>,
    subject: Option<String>,
}

/// The tokens, of which only digests are kept.
pub(super) struct Tokens(Vec<(Fingerprint, Identity)>);

impl Tokens {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let file: File = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
        if file.tokens.len() > MOST {
            return Err(format!("there are more than {MOST} tokens"));
        }
        let mut tokens: Vec<(Fingerprint, Identity)> = Vec::new();
        for (number, entry) in (1..).zip(file.tokens) {
            let (digest, identity) = entry.read().map_err(|problem| format!("token {number}: {problem}"))?;
            if tokens.iter().any(|(other, _)| *other == digest) {
                return Err(format!("token {number}: it is there twice"));
            }
            tokens.push((digest, identity));
        }
        Ok(Self(tokens))
    }

    /// Whose token it is. Takes the same time whichever it is.
    pub(super) fn find(&self, presented: &Fingerprint) -> Option<&Identity> {
        let mut found = None;
        for (digest, identity) in &self.0 {
            if bool::from(digest.ct_eq(presented)) {
                found = Some(identity);
            }
        }
        found
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(_, identity)| identity)).finish()
    }
}

impl Entry {
    fn read(self) -> Result<(Fingerprint, Identity), String> {
        let digest = match (self.token, self.sha256) {
            (Some(token), None) if token.len() < SHORTEST => {
                return Err(format!("it is shorter than {SHORTEST} characters and can be guessed"));
            }
            (Some(token), None) if !token.chars().all(|letter| letter.is_ascii_graphic()) => {
                return Err("it has spaces or other characters that no token has".to_owned());
            }
            (Some(token), None) => fingerprint(&token),
            (None, Some(digits)) => digest(&digits).ok_or("sha256 must be 64 hexadecimal digits")?,
            (None, None) | (Some(_), Some(_)) => return Err("give either token or sha256".to_owned()),
        };
        let tenant = TenantId::new(&self.tenant).map_err(|error| format!("tenant: {error}"))?;
        let subject = self.subject.unwrap_or_else(|| "token file".to_owned());
        Ok((digest, Identity { tenant, subject, roles: roles(&self.roles)? }))
    }
}

/// Roles by name, all of which must be known: a typing error must not take a right away in silence.
pub(super) fn roles<S: AsRef<str>>(names: &[S]) -> Result<Roles, String> {
    if names.is_empty() {
        return Err("roles: there are none".to_owned());
    }
    let role = |name: &S| {
        let known = || Role::ALL.map(Role::name).join(", ");
        Role::from_name(name.as_ref())
            .ok_or_else(|| format!("roles: {:?} is not one of {}", name.as_ref(), known()))
    };
    names.iter().map(role).collect()
}

fn digest(digits: &str) -> Option<Fingerprint> {
    let digits: Vec<u8> =
        digits.chars().map(|digit| digit.to_digit(16)?.try_into().ok()).collect::<Option<_>>()?;
    let bytes: Vec<u8> =
        digits.chunks(2).map(|pair| pair[0] << 4 | pair.get(1).copied().unwrap_or(0)).collect();
    bytes.try_into().ok().filter(|_| digits.len() == 64)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const GOOD: &str =
        "tokens:\n- {token: 0123456789abcdef, tenant: local, roles: ['vmafx:node'], subject: me}\n";

    #[test]
    fn a_token_is_found_as_it_is_and_by_its_digest() {
        let hex = |byte: &u8| [byte >> 4, byte & 15].map(|half| char::from_digit(half.into(), 16).unwrap());
        let digits: String = fingerprint("another-token-of-16").iter().flat_map(hex).collect();
        let text =
            format!("{GOOD}- {{sha256: '{digits}', tenant: t, roles: ['vmafx:reader', 'vmafx:admin']}}");
        let tokens = Tokens::parse(&text).unwrap();
        let found =
            |token| tokens.find(&fingerprint(token)).map(|who| (who.tenant.as_str(), who.subject.as_str()));
        assert_eq!(found("0123456789abcdef"), Some(("local", "me")));
        assert_eq!(found("another-token-of-16"), Some(("t", "token file")));
        assert_eq!(found("0123456789abcdeF"), None);
        assert!(!format!("{tokens:?}").contains("0123456789abcdef"));
    }

    #[test]
    fn json_will_do_as_well() {
        let text = r#"{"tokens": [{"token": "0123456789abcdef", "tenant": "t", "roles": ["vmafx:node"]}]}"#;
        assert!(Tokens::parse(text).is_ok());
    }

    #[rstest]
    #[case::unknown_field("tokens: []\nmore: 1", "more")]
    #[case::neither("tokens: [{tenant: t, roles: ['vmafx:node']}]", "token 1: give either token or sha256")]
    #[case::both(
        "tokens: [{token: 0123456789abcdef, sha256: '00', tenant: t, roles: ['vmafx:node']}]",
        "token 1: give either token or sha256"
    )]
    #[case::short("tokens: [{token: 0123456789abcde, tenant: t, roles: ['vmafx:node']}]", "can be guessed")]
    #[case::spaces(
        "tokens: [{token: '0123456789 abcdef', tenant: t, roles: ['vmafx:node']}]",
        "no token has"
    )]
    #[case::odd_digits("tokens: [{sha256: abc, tenant: t, roles: ['vmafx:node']}]", "64 hexadecimal digits")]
    #[case::no_roles("tokens: [{token: 0123456789abcdef, tenant: t, roles: []}]", "roles: there are none")]
    #[case::other_role(
        "tokens: [{token: 0123456789abcdef, tenant: t, roles: [node]}]",
        "roles: \"node\" is not one of vmafx:reader, vmafx:writer, vmafx:admin, vmafx:node"
    )]
    #[case::no_tenant(
        "tokens: [{token: 0123456789abcdef, tenant: '', roles: ['vmafx:node']}]",
        "tenant: the text is empty"
    )]
    #[case::twice(
        "tokens: [{token: 0123456789abcdef, tenant: t, roles: ['vmafx:node']}, {token: 0123456789abcdef, tenant: u, roles: ['vmafx:node']}]",
        "token 2: it is there twice"
    )]
    fn a_bad_file_is_refused(#[case] text: &str, #[case] expected: &str) {
        let problem = Tokens::parse(text).unwrap_err();
        assert!(problem.contains(expected), "{problem}");
        assert!(!problem.contains("0123456789"), "a secret is told: {problem}");
    }
}
