//! The locations of clips and reports that a job is permitted to use: denied by default, decided by the text of an address.
//!
//! A root is an absolute local directory, an `http(s)://` prefix, a prefix in an object store (`s3://`, `gs://`,
//! `azure://`) or in an rclone remote (`remote:path`). `https://` alone stands for every host. A placeholder in a root
//! stands for a name that the caller chooses: its tenant, its namespace. An address is inside a root when it has the same
//! scheme and host, bucket or remote, and its path starts with the root's path, segment by segment. Whatever another
//! program could read as a different path is refused before the comparison:
//!
//! | refused                                   | because a program may read it as                |
//! |-------------------------------------------|-------------------------------------------------|
//! | `..` and `.`, also as `%2e%2e` or `..;x`  | another directory                               |
//! | `%2f`, `\`, `%5c`, also encoded twice     | a separator                                     |
//! | control characters, bytes that are not UTF-8 | the end of the name, or something undefined  |
//! | `user@host`, `#`, other schemes           | another host, another path, another protocol    |
//!
//! This is the first of two checks: the node resolves symbolic links where the files are, and checks again.

mod location;
mod syntax;

use std::fmt;

pub use self::location::Location;
pub use self::syntax::AddressError;

const MAX_ROOTS: usize = 32;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the scoring root {root:?} is invalid")]
pub struct RootError {
    pub root: String,
    #[source]
    pub problem: AddressError,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScoringRoots {
    placeholder: &'static str,
    roots: Vec<Root>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Root {
    Fixed(Location),
    /// The text contains the placeholder.
    Template(String),
}

impl ScoringRoots {
    /// Parses a list separated by commas. An empty list permits nothing.
    pub fn parse(list: &str, placeholder: &'static str) -> Result<Self, RootError> {
        Self::from_roots(list.split(',').map(str::trim).filter(|root| !root.is_empty()), placeholder)
    }

    pub fn from_roots<'a>(
        roots: impl IntoIterator<Item = &'a str>,
        placeholder: &'static str,
    ) -> Result<Self, RootError> {
        let roots: Vec<_> =
            roots.into_iter().map(|root| parse_root(root, placeholder)).collect::<Result<_, _>>()?;
        match roots.get(MAX_ROOTS) {
            Some(first_too_many) => {
                Err(RootError { root: first_too_many.to_string(), problem: AddressError::TooMany(MAX_ROOTS) })
            }
            None => Ok(Self { placeholder, roots }),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.roots.is_empty()
    }

    /// The roots with `name` for the placeholder. A name that cannot be part of a path gets only the roots without
    /// placeholder.
    pub fn expand(&self, name: &str) -> Vec<Location> {
        let name = Some(name).filter(|name| is_path_segment(name));
        let render = |root: &Root| match root {
            Root::Fixed(location) => Some(location.clone()),
            Root::Template(text) => Location::parse_root(&text.replace(self.placeholder, name?)).ok(),
        };
        self.roots.iter().filter_map(render).collect()
    }

    /// Whether an address is inside the roots of `name`.
    pub fn check_address(&self, name: &str, address: &str) -> Result<(), AddressDenied> {
        let denied = |reason| AddressDenied { address: redacted(address), reason };
        if self.is_empty() {
            return Err(denied(DenialReason::NoRoots));
        }
        let location =
            Location::parse(address).map_err(|problem| denied(DenialReason::InvalidAddress(problem)))?;
        let inside = self.expand(name).iter().any(|root| root.contains(&location));
        if inside { Ok(()) } else { Err(denied(DenialReason::OutsideRoots)) }
    }
}

impl fmt::Display for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(location) => location.fmt(f),
            Self::Template(text) => f.write_str(text),
        }
    }
}

fn parse_root(text: &str, placeholder: &str) -> Result<Root, RootError> {
    let refused = |problem| RootError { root: text.to_owned(), problem };
    if !text.contains(placeholder) {
        return Location::parse_root(text).map(Root::Fixed).map_err(refused);
    }
    // Any plain name shows whether the rest of the root is valid.
    Location::parse_root(&text.replace(placeholder, "name")).map_err(refused)?;
    Ok(Root::Template(text.to_owned()))
}

/// A name with path syntax would turn the root of one tenant into the root of another.
fn is_path_segment(name: &str) -> bool {
    !matches!(name, "." | "..") && !name.contains(['/', '\\', ':'])
}

/// Why an address is denied. It never has the roots, which may reveal other tenants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressDenied {
    /// Quoted, without its query.
    pub address: String,
    pub reason: DenialReason,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DenialReason {
    NoRoots,
    InvalidAddress(AddressError),
    OutsideRoots,
}

/// The address for messages: printable, of bounded length, and without the query, which may hold a signature.
fn redacted(address: &str) -> String {
    const MAX_CHARS: usize = 200;
    let plain = if address.contains("://") { address.split('?').next().unwrap_or_default() } else { address };
    let mut short: String = plain.chars().take(MAX_CHARS).collect();
    if plain.chars().nth(MAX_CHARS).is_some() {
        short.push('…');
    }
    format!("{short:?}")
}

#[cfg(test)]
mod tests;
