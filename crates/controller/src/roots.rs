//! Where clips may lie: deny by default, decided by an address's text alone.
//!
//! A root is an absolute local directory, an `http(s)://` prefix, a prefix in an object store (`s3://`, `gs://`,
//! `azure://`) or in an rclone remote (`remote:path`). `{tenant}` in a root stands for the caller's tenant. An
//! address is inside when it is of the same kind and place and its path begins with the root's, whole segment by
//! whole segment. Everything that could mean another path to another reader is refused before the comparison:
//!
//! | refused                                   | because somebody may read it as          |
//! |-------------------------------------------|------------------------------------------|
//! | `..` and `.`, also as `%2e%2e` or `..;x`  | another directory                        |
//! | `%2f`, `\`, `%5c`, encoded twice as well  | a separator                              |
//! | control characters, bytes that are no text| the end of the name, or nothing known    |
//! | `user@host`, `#`, odd schemes             | another host, another path, another tool |
//!
//! This is the first of two checks: a node resolves links where the files are, and looks again.

mod location;
mod text;

use std::fmt;

use vmafx_kit::config::SettingsError;
use vmafx_queue::TenantId;

pub use self::location::Location;
pub use self::text::AddressError;
use crate::service::Roots;

/// The variable.
pub(crate) const VARIABLE: &str = "VMAFX_SCORING_ROOTS";
/// What stands for the tenant in a root.
const TENANT: &str = "{tenant}";
/// Most roots of a list.
const MOST: usize = 32;

/// The setting.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct RootsArgs {
    /// Where clips may lie, separated by commas: directories, URL prefixes, `s3://bucket/prefix`, `remote:path`;
    /// `{tenant}` stands for the caller's tenant. Unset: nothing may be scored.
    #[arg(long, env = "VMAFX_SCORING_ROOTS", value_name = "LIST")]
    pub scoring_roots: Option<String>,
}

impl RootsArgs {
    /// The roots, for all tenants alike.
    pub fn open(&self) -> Result<ScoringRoots, SettingsError> {
        let list = self.scoring_roots.as_deref().unwrap_or_default();
        ScoringRoots::parse(list).map_err(|error| SettingsError::Value {
            variable: VARIABLE.to_owned(),
            value: error.root.clone(),
            reason: error.problem.to_string(),
        })
    }
}

/// A root that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the scoring root {root:?} cannot be used")]
pub struct RootError {
    /// As it was written.
    pub root: String,
    /// What is wrong with it.
    #[source]
    pub problem: AddressError,
}

/// Roots, perhaps with a place for the tenant's name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScoringRoots(Vec<Root>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Root {
    Fixed(Location),
    ByTenant(String),
}

impl ScoringRoots {
    /// Reads a list separated by commas. An empty one allows nothing.
    pub fn parse(list: &str) -> Result<Self, RootError> {
        Self::of_each(list.split(',').map(str::trim).filter(|root| !root.is_empty()))
    }

    /// Reads roots that are separate already.
    pub fn of_each<'a>(roots: impl IntoIterator<Item = &'a str>) -> Result<Self, RootError> {
        let roots: Vec<_> = roots.into_iter().map(root).collect::<Result<_, _>>()?;
        match roots.get(MOST) {
            Some(first_too_many) => {
                Err(RootError { root: first_too_many.to_string(), problem: AddressError::TooMany(MOST) })
            }
            None => Ok(Self(roots)),
        }
    }

    /// Whether nothing is allowed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The roots of one tenant. A tenant whose name cannot be part of a path has only those without it.
    pub fn of_tenant(&self, tenant: &TenantId) -> Vec<Location> {
        let tenant = Some(tenant.as_str()).filter(|name| may_be_substituted(name));
        let render = |root: &Root| match root {
            Root::Fixed(location) => Some(location.clone()),
            Root::ByTenant(text) => Location::root(&text.replace(TENANT, tenant?)).ok(),
        };
        self.0.iter().filter_map(render).collect()
    }

    /// Whether an address lies inside the roots of a tenant.
    pub fn allows(&self, tenant: &TenantId, address: &str) -> Result<(), Outside> {
        let refused = |reason| Outside { address: shown(address), reason };
        if self.is_empty() {
            return Err(refused(Reason::NoRoots));
        }
        let location = Location::parse(address).map_err(|problem| refused(Reason::Unusable(problem)))?;
        let inside = self.of_tenant(tenant).iter().any(|root| root.contains(&location));
        if inside { Ok(()) } else { Err(refused(Reason::Elsewhere)) }
    }
}

impl Roots for ScoringRoots {
    fn of(&self, tenant: &TenantId) -> Vec<String> {
        self.of_tenant(tenant).iter().map(ToString::to_string).collect()
    }

    fn check(&self, tenant: &TenantId, address: &str) -> Result<(), String> {
        self.allows(tenant, address).map_err(|outside| outside.to_string())
    }
}

impl fmt::Display for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(location) => location.fmt(f),
            Self::ByTenant(text) => f.write_str(text),
        }
    }
}

fn root(text: &str) -> Result<Root, RootError> {
    let refused = |problem| RootError { root: text.to_owned(), problem };
    if !text.contains(TENANT) {
        return Location::root(text).map(Root::Fixed).map_err(refused);
    }
    // Any plain name will do to see whether the rest is good.
    Location::root(&text.replace(TENANT, "tenant")).map_err(refused)?;
    Ok(Root::ByTenant(text.to_owned()))
}

/// A name that is a path by itself would make one tenant's root another's.
fn may_be_substituted(tenant: &str) -> bool {
    !matches!(tenant, "." | "..") && !tenant.contains(['/', '\\', ':'])
}

/// Why an address was refused. Says nothing of the roots: they may be others'.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outside {
    address: String,
    reason: Reason,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Reason {
    NoRoots,
    Unusable(AddressError),
    Elsewhere,
}

impl std::error::Error for Outside {}

impl fmt::Display for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = &self.address;
        match &self.reason {
            Reason::NoRoots => {
                write!(f, "{address} cannot be scored: no scoring roots are configured ({VARIABLE})")
            }
            Reason::Unusable(problem) => write!(f, "{address} cannot be used: {problem}"),
            Reason::Elsewhere => write!(
                f,
                "{address} is outside the scoring roots of your tenant: use an address inside them, or have its \
                 place added ({VARIABLE}, or the tenant's scoring.roots)"
            ),
        }
    }
}

/// The address as it is told back: printable, not too long, and without a query, where signatures are.
fn shown(address: &str) -> String {
    const LONGEST: usize = 200;
    let plain = if address.contains("://") { address.split('?').next().unwrap_or_default() } else { address };
    let mut short: String = plain.chars().take(LONGEST).collect();
    if plain.chars().nth(LONGEST).is_some() {
        short.push('…');
    }
    format!("{short:?}")
}

#[cfg(test)]
mod tests;
