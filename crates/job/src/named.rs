//! Enums whose variants have fixed names.

/// A name that is not in the list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} is not a {what}; use one of {known}")]
pub struct UnknownName {
    pub name: String,
    pub what: &'static str,
    /// The accepted names, separated by commas.
    pub known: String,
}

/// An enum whose variants are written as fixed names: `ALL`, `name`, `Display`, `FromStr` and, with the feature `cli`,
/// `clap::ValueEnum`. Parsing ignores case.
macro_rules! named {
    ($type:ident, $what:literal, { $($variant:ident = $name:literal),+ $(,)? }) => {
        impl $type {
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }
        }

        impl ::std::fmt::Display for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl ::std::str::FromStr for $type {
            type Err = $crate::named::UnknownName;

            fn from_str(name: &str) -> Result<Self, Self::Err> {
                Self::ALL.into_iter().find(|one| one.name().eq_ignore_ascii_case(name)).ok_or_else(|| {
                    $crate::named::UnknownName {
                        name: name.to_owned(),
                        what: $what,
                        known: Self::ALL.map(Self::name).join(", "),
                    }
                })
            }
        }
    };
}

pub(crate) use named;
