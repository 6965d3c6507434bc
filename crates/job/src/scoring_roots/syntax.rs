//! Syntax checks that apply to every kind of address.

use percent_encoding::percent_decode_str;

const MAX_ADDRESS_BYTES: usize = 8192;
/// A path with more layers of percent-encoding is refused.
const MAX_DECODE_PASSES: usize = 4;

/// What is wrong with an address or a scoring root.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error("it is empty")]
    Empty,
    #[error("it is longer than {MAX_ADDRESS_BYTES} bytes")]
    Long,
    #[error("it has control characters")]
    Control,
    #[error("it has a backslash: separate directories with /")]
    Backslash,
    /// `..`
    #[error("it has a \"..\" or \".\" segment: write the path without it")]
    Dots,
    /// `%2f`
    #[error("it has an encoded separator or control character: write / as it is")]
    EncodedSeparator,
    /// `%c0%ae`
    #[error("its percent-encoding is broken or is not UTF-8")]
    Encoding,
    /// `clip.y4m`
    #[error(
        "it is neither an absolute path nor an address: use /dir/clip, https://host/clip, s3://bucket/clip or \
         remote:clip"
    )]
    Relative,
    /// `ftp://`
    #[error(
        "its scheme is not one of file, http, https, s3, gs, azure; for others configure an rclone remote"
    )]
    Scheme,
    /// `http://user:password@host`
    #[error("it has a user name or password: leave it out")]
    UserInfo,
    /// `http://`
    #[error("its host is missing or is not a valid host name")]
    Host,
    /// `s3://`
    #[error("its bucket is missing or is not a valid bucket name")]
    Bucket,
    /// `host:http`
    #[error("its port is not a number from 1 to 65535")]
    Port,
    /// `#` or `?`
    #[error("it has a ? or # that is not permitted there: encode it as %3F or %23")]
    Extra,
    #[error("there are more than {0} roots")]
    TooMany(usize),
}

pub(super) fn check_characters(address: &str) -> Result<(), AddressError> {
    if address.is_empty() {
        return Err(AddressError::Empty);
    }
    if address.len() > MAX_ADDRESS_BYTES {
        return Err(AddressError::Long);
    }
    if address.chars().any(char::is_control) {
        return Err(AddressError::Control);
    }
    if address.contains('\\') {
        return Err(AddressError::Backslash);
    }
    Ok(())
}

/// Refuses a path that means another path after it is decoded, once or several times.
pub(super) fn check_path(path: &str) -> Result<(), AddressError> {
    let mut current = path.to_owned();
    for _ in 0..MAX_DECODE_PASSES {
        if current.split('/').any(is_dots) {
            return Err(AddressError::Dots);
        }
        let decoded = decode(&current)?;
        if decoded == current {
            return Ok(());
        }
        let separators = |text: &str| text.matches(['/', '\\']).count();
        if decoded.chars().any(char::is_control) || separators(&decoded) != separators(&current) {
            return Err(AddressError::EncodedSeparator);
        }
        current = decoded;
    }
    Err(AddressError::Encoding)
}

/// Servers with path parameters read `..;x` as `..`, and servers that trim read `.. ` as `..`.
fn is_dots(segment: &str) -> bool {
    let name = segment.split(';').next().unwrap_or_default().trim();
    matches!(name, "." | "..")
}

/// Keeps a percent sign that is not followed by two hexadecimal digits.
pub(super) fn decode(text: &str) -> Result<String, AddressError> {
    let decoded = percent_decode_str(text).decode_utf8().map_err(|_| AddressError::Encoding)?;
    Ok(decoded.into_owned())
}
