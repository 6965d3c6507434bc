//! The locations of clips that a tenant is permitted to score: denied by default, decided by the text of an address.
//!
//! A root is an absolute local directory, an `http(s)://` prefix, a prefix in an object store (`s3://`, `gs://`,
//! `azure://`) or in an rclone remote (`remote:path`). `{tenant}` in a root stands for the caller's tenant. An
//! address is inside a root when it has the same scheme and host, bucket or remote, and its path starts with the root's
//! path, segment by segment. Whatever another program could read as a different path is refused before the comparison:
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

use vmafx_kit::config::SettingsError;
use vmafx_queue::TenantId;

pub use self::location::Location;
pub use self::syntax::AddressError;
use crate::service::Roots;

pub(crate) const VARIABLE: &str = "VMAFX_SCORING_ROOTS";
const TENANT_PLACEHOLDER: &str = "{tenant}";
const MAX_ROOTS: usize = 32;

#[derive(Clone, Debug, Default, clap::Args)]
pub struct RootsArgs {
    /// Permitted locations of clips, separated by commas: directories, URL prefixes, `s3://bucket/prefix`,
    /// `remote:path`; `{tenant}` stands for the caller's tenant. Unset: every job is refused.
    #[arg(long, env = "VMAFX_SCORING_ROOTS", value_name = "LIST")]
    pub scoring_roots: Option<String>,
}

impl RootsArgs {
    pub fn open(&self) -> Result<ScoringRoots, SettingsError> {
        let list = self.scoring_roots.as_deref().unwrap_or_default();
        ScoringRoots::parse(list).map_err(|error| SettingsError::Value {
            variable: VARIABLE.to_owned(),
            value: error.root.clone(),
            reason: error.problem.to_string(),
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the scoring root {root:?} is invalid")]
pub struct RootError {
    pub root: String,
    #[source]
    pub problem: AddressError,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScoringRoots(Vec<Root>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Root {
    Fixed(Location),
    /// The text contains the placeholder of the tenant.
    PerTenant(String),
}

impl ScoringRoots {
    /// Parses a list separated by commas. An empty list permits nothing.
    pub fn parse(list: &str) -> Result<Self, RootError> {
        Self::from_roots(list.split(',').map(str::trim).filter(|root| !root.is_empty()))
    }

    pub fn from_roots<'a>(roots: impl IntoIterator<Item = &'a str>) -> Result<Self, RootError> {
        let roots: Vec<_> = roots.into_iter().map(parse_root).collect::<Result<_, _>>()?;
        match roots.get(MAX_ROOTS) {
            Some(first_too_many) => {
                Err(RootError { root: first_too_many.to_string(), problem: AddressError::TooMany(MAX_ROOTS) })
            }
            None => Ok(Self(roots)),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A tenant whose name cannot be part of a path gets only the roots without placeholder.
    pub fn for_tenant(&self, tenant: &TenantId) -> Vec<Location> {
        let tenant = Some(tenant.as_str()).filter(|name| is_path_segment(name));
        let render = |root: &Root| match root {
            Root::Fixed(location) => Some(location.clone()),
            Root::PerTenant(text) => Location::parse_root(&text.replace(TENANT_PLACEHOLDER, tenant?)).ok(),
        };
        self.0.iter().filter_map(render).collect()
    }

    pub fn check_address(&self, tenant: &TenantId, address: &str) -> Result<(), AddressDenied> {
        let denied = |reason| AddressDenied { address: redacted(address), reason };
        if self.is_empty() {
            return Err(denied(DenialReason::NoRoots));
        }
        let location =
            Location::parse(address).map_err(|problem| denied(DenialReason::InvalidAddress(problem)))?;
        let inside = self.for_tenant(tenant).iter().any(|root| root.contains(&location));
        if inside { Ok(()) } else { Err(denied(DenialReason::OutsideRoots)) }
    }
}

impl Roots for ScoringRoots {
    fn of(&self, tenant: &TenantId) -> Vec<String> {
        self.for_tenant(tenant).iter().map(ToString::to_string).collect()
    }

    fn check(&self, tenant: &TenantId, address: &str) -> Result<(), String> {
        self.check_address(tenant, address).map_err(|denied| denied.to_string())
    }
}

impl fmt::Display for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(location) => location.fmt(f),
            Self::PerTenant(text) => f.write_str(text),
        }
    }
}

fn parse_root(text: &str) -> Result<Root, RootError> {
    let refused = |problem| RootError { root: text.to_owned(), problem };
    if !text.contains(TENANT_PLACEHOLDER) {
        return Location::parse_root(text).map(Root::Fixed).map_err(refused);
    }
    // Any plain name shows whether the rest of the root is valid.
    Location::parse_root(&text.replace(TENANT_PLACEHOLDER, "tenant")).map_err(refused)?;
    Ok(Root::PerTenant(text.to_owned()))
}

/// A name with path syntax would turn the root of one tenant into the root of another.
fn is_path_segment(tenant: &str) -> bool {
    !matches!(tenant, "." | "..") && !tenant.contains(['/', '\\', ':'])
}

/// The message never names the roots, which may reveal other tenants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressDenied {
    address: String,
    reason: DenialReason,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum DenialReason {
    NoRoots,
    InvalidAddress(AddressError),
    OutsideRoots,
}

impl std::error::Error for AddressDenied {}

impl fmt::Display for AddressDenied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = &self.address;
        match &self.reason {
            DenialReason::NoRoots => {
                write!(f, "{address} cannot be scored: no scoring roots are configured ({VARIABLE})")
            }
            DenialReason::InvalidAddress(problem) => write!(f, "{address} cannot be used: {problem}"),
            DenialReason::OutsideRoots => write!(
                f,
                "{address} is outside the scoring roots of your tenant: use an address inside them, or have its \
                 location added ({VARIABLE}, or the tenant's scoring.roots)"
            ),
        }
    }
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
