//! Addresses in a normal form: equal locations compare as equal.

use std::fmt;
use std::net::Ipv6Addr;

use super::syntax::{self, AddressError};

/// The schemes of object stores, each with the one that stands for the same store.
const STORES: [(&str, &str); 5] =
    [("s3", "s3"), ("s3a", "s3"), ("gs", "gs"), ("azure", "azure"), ("az", "azure")];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    base: LocationBase,
    segments: Vec<String>,
}

/// What the path of a location is relative to.
#[derive(Clone, Debug, PartialEq, Eq)]
enum LocationBase {
    Local,
    /// Every host; only in a root.
    AnyWeb {
        secure: bool,
    },
    Web {
        secure: bool,
        host: String,
        port: u16,
    },
    Store {
        scheme: &'static str,
        bucket: String,
    },
    Remote {
        name: String,
        absolute: bool,
    },
}

impl Location {
    pub fn parse(address: &str) -> Result<Self, AddressError> {
        syntax::check_characters(address)?;
        if address.starts_with('/') {
            return local(address);
        }
        let (scheme, rest) = address.split_once(':').ok_or(AddressError::Relative)?;
        let lower = scheme.to_ascii_lowercase();
        match (lower.as_str(), rest.strip_prefix("//")) {
            ("file", Some(rest)) => file(rest),
            ("http", Some(rest)) => web(false, rest),
            ("https", Some(rest)) => web(true, rest),
            (known, Some(rest)) => {
                let store_scheme = STORES.into_iter().find(|(scheme, _)| *scheme == known);
                store(store_scheme.ok_or(AddressError::Scheme)?.1, rest)
            }
            ("file" | "http" | "https", None) => Err(AddressError::Scheme),
            (known, None) if STORES.iter().any(|(scheme, _)| *scheme == known) => Err(AddressError::Scheme),
            (_, None) => remote(scheme, rest),
        }
    }

    /// Parses a scoring root, which has no query and whose trailing slashes are ignored.
    pub(super) fn parse_root(address: &str) -> Result<Self, AddressError> {
        let any = [false, true].into_iter().find(|secure| {
            let (scheme, _) = web_scheme(*secure);
            address.strip_suffix("://").is_some_and(|text| text.eq_ignore_ascii_case(scheme))
        });
        if let Some(secure) = any {
            return Ok(Self { base: LocationBase::AnyWeb { secure }, segments: Vec::new() });
        }
        let mut location = Self::parse(address)?;
        if matches!(location.base, LocationBase::Web { .. }) && address.contains('?') {
            return Err(AddressError::Extra);
        }
        while location.segments.last().is_some_and(String::is_empty) {
            location.segments.pop();
        }
        Ok(location)
    }

    /// Whether the other location is this one or below it.
    pub fn contains(&self, other: &Self) -> bool {
        match (&self.base, &other.base) {
            (LocationBase::AnyWeb { secure }, LocationBase::Web { secure: other, .. }) => secure == other,
            (base, other_base) => base == other_base && other.segments.starts_with(&self.segments),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.segments.join("/");
        match &self.base {
            LocationBase::Local => write!(f, "/{path}"),
            LocationBase::AnyWeb { secure } => write!(f, "{}://", web_scheme(*secure).0),
            LocationBase::Web { secure, host, port } => {
                let (scheme, default) = web_scheme(*secure);
                write!(f, "{scheme}://{host}")?;
                if *port != default {
                    write!(f, ":{port}")?;
                }
                write!(f, "/{path}")
            }
            LocationBase::Store { scheme, bucket } => write!(f, "{scheme}://{bucket}/{path}"),
            LocationBase::Remote { name, absolute } => {
                write!(f, "{name}:{}{path}", if *absolute { "/" } else { "" })
            }
        }
    }
}

const fn web_scheme(secure: bool) -> (&'static str, u16) {
    if secure { ("https", 443) } else { ("http", 80) }
}

/// Keeps empty segments, which are part of the name in an object store.
fn segments(path: &str) -> Result<Vec<String>, AddressError> {
    syntax::check_path(path)?;
    Ok(if path.is_empty() { Vec::new() } else { path.split('/').map(str::to_owned).collect() })
}

/// Drops empty segments, because `//` is `/` to a file system.
fn local(path: &str) -> Result<Location, AddressError> {
    syntax::check_path(path)?;
    let segments = path.split('/').filter(|segment| !segment.is_empty()).map(str::to_owned).collect();
    Ok(Location { base: LocationBase::Local, segments })
}

fn file(rest: &str) -> Result<Location, AddressError> {
    let slash = rest.find('/').ok_or(AddressError::Host)?;
    let (host, path) = rest.split_at(slash);
    if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
        return Err(AddressError::Host);
    }
    if path.contains(['?', '#']) {
        return Err(AddressError::Extra);
    }
    syntax::check_path(path)?;
    local(&syntax::decode(path)?)
}

fn web(secure: bool, rest: &str) -> Result<Location, AddressError> {
    if rest.contains('#') {
        return Err(AddressError::Extra);
    }
    let (before_query, _) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = before_query.split_once('/').unwrap_or((before_query, ""));
    if authority.contains('@') {
        return Err(AddressError::UserInfo);
    }
    let (host, port) = if let Some(rest) = authority.strip_prefix('[') {
        let (inner, port) = rest.split_once(']').ok_or(AddressError::Host)?;
        let ip: Ipv6Addr = inner.parse().map_err(|_| AddressError::Host)?;
        (format!("[{ip}]"), port)
    } else {
        let (host, port) = authority.split_at(authority.find(':').unwrap_or(authority.len()));
        (host_name(host)?, port)
    };
    let (_, default) = web_scheme(secure);
    let port = match port.strip_prefix(':') {
        None if port.is_empty() => default,
        Some("") => default,
        Some(digits) => port_number(digits)?,
        None => return Err(AddressError::Host),
    };
    Ok(Location { base: LocationBase::Web { secure, host, port }, segments: segments(path)? })
}

fn port_number(digits: &str) -> Result<u16, AddressError> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|port| plain && *port > 0).ok_or(AddressError::Port)
}

fn host_name(host: &str) -> Result<String, AddressError> {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "-._".contains(letter);
    let labels = host.split('.').all(|label| !label.is_empty());
    if labels && host.chars().all(fits) { Ok(host.to_ascii_lowercase()) } else { Err(AddressError::Host) }
}

fn store(scheme: &'static str, rest: &str) -> Result<Location, AddressError> {
    if rest.contains(['?', '#']) {
        return Err(AddressError::Extra);
    }
    let (bucket, path) = rest.split_once('/').unwrap_or((rest, ""));
    if bucket.contains('@') {
        return Err(AddressError::UserInfo);
    }
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "-._".contains(letter);
    let starts_well = bucket.starts_with(|first: char| first.is_ascii_alphanumeric());
    if !starts_well || !bucket.chars().all(fits) || bucket.contains("..") {
        return Err(AddressError::Bucket);
    }
    Ok(Location {
        base: LocationBase::Store { scheme, bucket: bucket.to_owned() },
        segments: segments(path)?,
    })
}

/// Accepts only the name of a configured remote: rclone's inline options (`name,option=…:`, `:backend:`) would let an
/// address carry its own configuration.
fn remote(name: &str, path: &str) -> Result<Location, AddressError> {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "-._".contains(letter);
    let starts_well = name.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '_');
    if !starts_well || !name.chars().all(fits) {
        return Err(AddressError::Scheme);
    }
    let (absolute, path) = path.strip_prefix('/').map_or((false, path), |path| (true, path));
    let base = LocationBase::Remote { name: name.to_owned(), absolute };
    Ok(Location { base, segments: segments(path)? })
}
