use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

/// A text that must not appear in logs: it prints as `[hidden]`. [`SecretString::reveal`] is the only way to the text,
/// and easy to search for.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretString(String);

impl SecretString {
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl FromStr for SecretString {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Debug for SecretString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[hidden]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn does_not_print_itself() {
        let secret: SecretString = "hunter2".parse().unwrap();
        assert_eq!(format!("{secret:?}"), "[hidden]");
        assert_eq!(secret.reveal(), "hunter2");
    }
}
