//! Tokens from a file, for installations without an issuer.
//!
//! ```yaml
//! tokens:
//!   - sha256: 2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae   # or `token:` in plain text
//!     tenant: local
//!     roles: [vmafx:writer, vmafx:node]
//!     subject: laptop
//! ```

use std::fmt;

use serde::Deserialize;
use subtle::ConstantTimeEq;
use vmafx_queue::TenantId;

use super::token_cache::{TokenDigest, token_digest};
use crate::identity::{Identity, Role, Roles, SubjectSource};

/// Each call is compared with all tokens, so the number bounds the cost.
const MAX_TOKENS: usize = 256;
/// Shorter tokens can be guessed.
const MIN_TOKEN_LENGTH: usize = 16;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenFile {
    tokens: Vec<TokenEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenEntry {
    token: Option<String>,
    sha256: Option<String>,
    tenant: String,
    roles: Vec<String>,
    subject: Option<String>,
}

/// Stores only the digests of the tokens.
pub(super) struct StaticTokens(Vec<(TokenDigest, Identity)>);

impl StaticTokens {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let file: TokenFile = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
        if file.tokens.len() > MAX_TOKENS {
            return Err(format!("the file has more than {MAX_TOKENS} tokens"));
        }
        let mut tokens: Vec<(TokenDigest, Identity)> = Vec::new();
        for (number, entry) in (1..).zip(file.tokens) {
            let (digest, identity) = entry.parse().map_err(|problem| format!("token {number}: {problem}"))?;
            if tokens.iter().any(|(other, _)| *other == digest) {
                return Err(format!("token {number} is listed twice"));
            }
            tokens.push((digest, identity));
        }
        Ok(Self(tokens))
    }

    /// Compares in constant time, so that the duration does not reveal which token matched.
    pub(super) fn find(&self, presented: &TokenDigest) -> Option<&Identity> {
        let mut found = None;
        for (digest, identity) in &self.0 {
            if bool::from(digest.ct_eq(presented)) {
                found = Some(identity);
            }
        }
        found
    }
}

impl fmt::Debug for StaticTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(_, identity)| identity)).finish()
    }
}

impl TokenEntry {
    fn parse(self) -> Result<(TokenDigest, Identity), String> {
        let digest = match (self.token, self.sha256) {
            (Some(token), None) => {
                check_token(&token)?;
                token_digest(&token)
            }
            (None, Some(digits)) => parse_digest(&digits).ok_or("sha256 must be 64 hexadecimal digits")?,
            (None, None) | (Some(_), Some(_)) => return Err("set either token or sha256".to_owned()),
        };
        let tenant = TenantId::new(&self.tenant).map_err(|error| format!("tenant: {error}"))?;
        // Idempotency keys belong to a subject, so tokens without a name get one that no other token has.
        let unnamed =
            || format!("token {:08x}", u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]));
        let subject = self.subject.unwrap_or_else(unnamed);
        let (source, roles) = (SubjectSource::Platform, parse_roles(&self.roles)?);
        Ok((digest, Identity { tenant, subject, source, roles, calls_for_namespaces: false }))
    }
}

/// Refuses a token that can be guessed, or that no header can have.
pub(super) fn check_token(token: &str) -> Result<(), String> {
    if token.len() < MIN_TOKEN_LENGTH {
        return Err(format!(
            "it has fewer than {MIN_TOKEN_LENGTH} characters and can be guessed: use a longer one"
        ));
    }
    if !token.chars().all(|letter| letter.is_ascii_graphic()) {
        return Err("it has spaces or characters other than printable ASCII".to_owned());
    }
    Ok(())
}

/// Refuses unknown names: a typing error must not silently remove a role.
pub(super) fn parse_roles<S: AsRef<str>>(names: &[S]) -> Result<Roles, String> {
    if names.is_empty() {
        return Err("roles: the list is empty".to_owned());
    }
    let role = |name: &S| {
        let known = || Role::ALL.map(Role::name).join(", ");
        Role::from_name(name.as_ref())
            .ok_or_else(|| format!("roles: {:?} is not one of {}", name.as_ref(), known()))
    };
    names.iter().map(role).collect()
}

fn parse_digest(digits: &str) -> Option<TokenDigest> {
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
        let digits: String = token_digest("another-token-of-16").iter().flat_map(hex).collect();
        let text =
            format!("{GOOD}- {{sha256: '{digits}', tenant: t, roles: ['vmafx:reader', 'vmafx:admin']}}");
        let tokens = StaticTokens::parse(&text).unwrap();
        let found =
            |token| tokens.find(&token_digest(token)).map(|who| (who.tenant.as_str(), who.subject.as_str()));
        assert_eq!(found("0123456789abcdef"), Some(("local", "me")));
        assert_eq!(found("another-token-of-16"), Some(("t", "token 01c0fcd5")));
        assert_eq!(found("0123456789abcdeF"), None);
        assert!(!format!("{tokens:?}").contains("0123456789abcdef"));
    }

    #[test]
    fn json_is_accepted() {
        let text = r#"{"tokens": [{"token": "0123456789abcdef", "tenant": "t", "roles": ["vmafx:node"]}]}"#;
        assert!(StaticTokens::parse(text).is_ok());
    }

    #[rstest]
    #[case::unknown_field("tokens: []\nmore: 1", "more")]
    #[case::neither("tokens: [{tenant: t, roles: ['vmafx:node']}]", "token 1: set either token or sha256")]
    #[case::both(
        "tokens: [{token: 0123456789abcdef, sha256: '00', tenant: t, roles: ['vmafx:node']}]",
        "token 1: set either token or sha256"
    )]
    #[case::short("tokens: [{token: 0123456789abcde, tenant: t, roles: ['vmafx:node']}]", "can be guessed")]
    #[case::spaces(
        "tokens: [{token: '0123456789 abcdef', tenant: t, roles: ['vmafx:node']}]",
        "other than printable ASCII"
    )]
    #[case::odd_digits("tokens: [{sha256: abc, tenant: t, roles: ['vmafx:node']}]", "64 hexadecimal digits")]
    #[case::no_roles("tokens: [{token: 0123456789abcdef, tenant: t, roles: []}]", "roles: the list is empty")]
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
        "token 2 is listed twice"
    )]
    fn a_bad_file_is_refused(#[case] text: &str, #[case] expected: &str) {
        let problem = StaticTokens::parse(text).unwrap_err();
        assert!(problem.contains(expected), "{problem}");
        assert!(!problem.contains("0123456789"), "the message contains a secret: {problem}");
    }
}
