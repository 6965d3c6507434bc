//! The token of the scraper that may see names of tenants.

use std::fmt;

use subtle::ConstantTimeEq;

use super::static_tokens::check_token;
use super::token_cache::{TokenDigest, token_digest};

pub(super) struct MetricsToken(TokenDigest);

impl MetricsToken {
    /// Parses the content of the file, which may end with a line break.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let token = text.trim_end();
        check_token(token)?;
        Ok(Self(token_digest(token)))
    }

    /// Compares in constant time, as the token file does.
    pub(super) fn is(&self, presented: &str) -> bool {
        self.0.ct_eq(&token_digest(presented)).into()
    }
}

impl fmt::Debug for MetricsToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[hidden]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_is_the_content_without_its_line_break() {
        let token = MetricsToken::parse("0123456789abcdef\n").unwrap();
        assert!(token.is("0123456789abcdef") && !token.is("0123456789abcdeF"));
        assert!(MetricsToken::parse("short").unwrap_err().contains("fewer than 16 characters"));
    }
}
