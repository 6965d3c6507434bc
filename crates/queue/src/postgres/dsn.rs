//! The database address.
//!
//! tokio-postgres parses the address, except for `sslmode` and `sslrootcert`, which are removed first because it
//! does not support their certificate checks. Names and values are those of libpq.

use std::path::PathBuf;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::SslMode;

use super::error::ConnectError;

/// How the server's certificate is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CertificateCheck {
    /// Encrypts the connection without checking the certificate.
    Skip,
    /// The certificate must be signed by a trusted authority.
    Authority,
    /// The certificate must also be valid for the host name.
    Hostname,
}

#[derive(Clone, Debug)]
pub(super) struct Address {
    pub(super) config: Config,
    pub(super) trust: CertificateCheck,
    /// Authorities to trust instead of those of the operating system.
    pub(super) authorities: Option<PathBuf>,
}

/// A connection whose packets are not acknowledged for this long is closed.
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(15);

impl Address {
    pub(super) fn parse(dsn: &str) -> Result<Self, ConnectError> {
        let bad = |what: String| ConnectError::Dsn { what };
        let is_url = dsn.starts_with("postgres://") || dsn.starts_with("postgresql://");
        let (rest, ours) = if is_url { split_url(dsn) } else { split_pairs(dsn) };
        let mut config: Config = rest.parse().map_err(|error: tokio_postgres::Error| {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            bad(cause.unwrap_or_else(|| error.to_string()))
        })?;
        let last =
            |name: &str| ours.iter().rev().find(|(found, _)| found == name).map(|(_, value)| value.clone());
        let authorities = last("sslrootcert").filter(|path| path != "system").map(PathBuf::from);
        let mode = last("sslmode");
        let (ssl, trust) = match mode.as_deref() {
            Some("disable") => (SslMode::Disable, CertificateCheck::Skip),
            None | Some("allow" | "prefer") => (SslMode::Prefer, CertificateCheck::Skip),
            // As in libpq, `sslrootcert` turns `require` into `verify-ca`.
            Some("require") if authorities.is_some() => (SslMode::Require, CertificateCheck::Authority),
            Some("require") => (SslMode::Require, CertificateCheck::Skip),
            Some("verify-ca") => (SslMode::Require, CertificateCheck::Authority),
            Some("verify-full") => (SslMode::Require, CertificateCheck::Hostname),
            Some(other) => return Err(bad(format!("sslmode {other:?} is unknown"))),
        };
        config.ssl_mode(ssl);
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(Duration::from_secs(5));
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(TCP_USER_TIMEOUT);
        }
        Ok(Self { config, trust, authorities })
    }

    /// Adds server settings to those in the address.
    pub(super) fn set(&mut self, settings: &str) {
        let own = self.config.get_options().unwrap_or_default();
        let all = format!("{own} {settings}");
        self.config.options(all.trim());
    }
}

type Pairs = Vec<(String, String)>;

fn is_ours(name: &str) -> bool {
    matches!(name, "sslmode" | "sslrootcert")
}

fn split_url(url: &str) -> (String, Pairs) {
    let Some((base, query)) = url.split_once('?') else { return (url.to_owned(), vec![]) };
    let (ours, theirs): (Vec<&str>, Vec<&str>) =
        query.split('&').partition(|pair| is_ours(pair.split('=').next().unwrap_or_default()));
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (name.to_owned(), decode(value))
    };
    (format!("{base}?{}", theirs.join("&")), ours.into_iter().map(pair).collect())
}

/// Percent-decodes a value of a URL.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        let byte = after.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(b'%'));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Parses `name = value` pairs. Values with spaces are enclosed in single quotes; a backslash escapes a quote.
fn split_pairs(text: &str) -> (String, Pairs) {
    let (mut theirs, mut ours) = (String::new(), vec![]);
    let mut rest = text.trim_start();
    while let Some((name, after)) = rest.split_once('=') {
        let (name, after) = (name.trim(), after.trim_start());
        let (value, length) = read_value(after);
        if is_ours(name) {
            ours.push((name.to_owned(), value));
        } else {
            theirs.extend([name, "=", &after[..length], " "]);
        }
        rest = after[length..].trim_start();
    }
    // tokio-postgres reports an error for the rest.
    (theirs + rest, ours)
}

/// A value and the length of its text.
fn read_value(text: &str) -> (String, usize) {
    let quoted = text.starts_with('\'');
    let mut value = String::new();
    let mut characters = text.char_indices().skip(usize::from(quoted));
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            '\'' if quoted => return (value, at + 1),
            space if !quoted && space.is_whitespace() => return (value, at),
            other => value.push(other),
        }
    }
    (value, text.len())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::nothing_said("postgres://u:p@h:1/d", SslMode::Prefer, CertificateCheck::Skip, None)]
    #[case::off("postgres://h/d?sslmode=disable", SslMode::Disable, CertificateCheck::Skip, None)]
    #[case::required(
        "postgresql://h/d?sslmode=require&connect_timeout=3",
        SslMode::Require,
        CertificateCheck::Skip,
        None
    )]
    #[case::authority(
        "postgres://h/d?sslrootcert=%2Fa%20b&sslmode=require",
        SslMode::Require,
        CertificateCheck::Authority,
        Some("/a b")
    )]
    #[case::chain("host=h sslmode=verify-ca user=u", SslMode::Require, CertificateCheck::Authority, None)]
    #[case::name(
        "host = h sslmode = 'verify-full' sslrootcert='/it\\'s here' dbname=d",
        SslMode::Require,
        CertificateCheck::Hostname,
        Some("/it's here")
    )]
    #[case::system(
        "host=h sslmode=verify-full sslrootcert=system",
        SslMode::Require,
        CertificateCheck::Hostname,
        None
    )]
    fn the_parameters_of_libpq_are_parsed(
        #[case] dsn: &str,
        #[case] mode: SslMode,
        #[case] trust: CertificateCheck,
        #[case] authorities: Option<&str>,
    ) {
        let address = Address::parse(dsn).unwrap();
        assert_eq!(address.config.get_ssl_mode(), mode);
        assert_eq!((address.trust, address.authorities), (trust, authorities.map(PathBuf::from)));
        assert_eq!(address.config.get_hosts().len(), 1);
    }

    #[rstest]
    #[case::word("postgres://u:secret@h/d?sslmode=sometimes", "sslmode \"sometimes\" is unknown")]
    #[case::option("host=h password=secret shoes=brown", "unknown option `shoes`")]
    #[case::rubbish("secret", "unexpected EOF")]
    fn an_error_names_the_part_and_no_password(#[case] dsn: &str, #[case] text: &str) {
        let error = Address::parse(dsn).unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }

    #[test]
    fn settings_are_added_to_those_in_the_address() {
        let mut address = Address::parse("host=h options='-c work_mem=1MB'").unwrap();
        address.set("-c jit=off");
        assert_eq!(address.config.get_options(), Some("-c work_mem=1MB -c jit=off"));
    }
}
