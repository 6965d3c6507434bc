//! What an address may be written with, whatever its kind.

/// Nobody's clip has a longer address.
const LONGEST: usize = 8192;
/// How often something may be encoded before we stop looking inside.
const DEEPEST: usize = 4;

/// What is wrong with an address or a root.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Nothing.
    #[error("it is empty")]
    Empty,
    /// Too long.
    #[error("it has more than {LONGEST} bytes")]
    Long,
    /// NUL and the like.
    #[error("it has control characters")]
    Control,
    /// `\`
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
    #[error("its host is missing or is not a host name")]
    Host,
    /// `s3://`
    #[error("its bucket is missing or is not a bucket's name")]
    Bucket,
    /// `host:http`
    #[error("its port is not a number from 1 to 65535")]
    Port,
    /// `#` or `?`
    #[error("it has a ? or # where none may be: encode it as %3F or %23")]
    Extra,
    /// A list.
    #[error("there are more than {0} roots")]
    TooMany(usize),
}

/// Refuses what no kind of address may hold.
pub(super) fn plain(address: &str) -> Result<(), AddressError> {
    if address.is_empty() {
        return Err(AddressError::Empty);
    }
    if address.len() > LONGEST {
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

/// Refuses a path that could mean another one, as it is or after it is decoded, once or several times.
pub(super) fn path(path: &str) -> Result<(), AddressError> {
    let mut current = path.to_owned();
    for _ in 0..DEEPEST {
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

/// `..;x` is `..` to servers that know path parameters, `.. ` to those that trim.
fn is_dots(segment: &str) -> bool {
    let name = segment.split(';').next().unwrap_or_default().trim();
    matches!(name, "." | "..")
}

/// Decodes what is encoded; a percent sign that encodes nothing stays.
pub(super) fn decode(text: &str) -> Result<String, AddressError> {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if *byte == b'%'
            && let (Some(high), Some(low)) = (digit(at + 1), digit(at + 2))
        {
            decoded.push(u8::try_from(high * 16 + low).map_err(|_| AddressError::Encoding)?);
            at += 3;
        } else {
            decoded.push(*byte);
            at += 1;
        }
    }
    String::from_utf8(decoded).map_err(|_| AddressError::Encoding)
}
