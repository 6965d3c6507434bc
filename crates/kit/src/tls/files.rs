use std::path::PathBuf;

use crate::config::SettingsError;

/// The variables that set the files; errors name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TlsVariables {
    /// The switch with its value, as in `VMAFX_GRPC_TLS=true`.
    pub switch: &'static str,
    pub cert: &'static str,
    pub key: &'static str,
}

impl TlsVariables {
    /// TLS cannot be optional where it is off.
    pub fn check_optional(self, on: bool, optional: Option<&'static str>) -> Result<(), SettingsError> {
        match optional {
            Some(variable) if !on => Err(SettingsError::Without { variable, needs: self.switch }),
            _ => Ok(()),
        }
    }
}

/// A certificate chain and its key, both PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The server's own certificate first, then the intermediate ones.
    pub cert: PathBuf,
    /// PKCS#8, PKCS#1 or SEC1.
    pub key: PathBuf,
    pub variables: TlsVariables,
}

impl TlsFiles {
    /// The files, if TLS is on. A certificate without the switch is an error: whoever sets it expects encryption.
    pub fn of(
        on: bool,
        cert: Option<&PathBuf>,
        key: Option<&PathBuf>,
        variables: TlsVariables,
    ) -> Result<Option<Self>, SettingsError> {
        let missing = |names: &[&str]| SettingsError::Missing {
            settings: names.iter().map(|name| format!("{name} (needed by {})", variables.switch)).collect(),
        };
        let without = |variable| SettingsError::Without { variable, needs: variables.switch };
        match (on, cert, key) {
            (true, Some(cert), Some(key)) => {
                Ok(Some(Self { cert: cert.clone(), key: key.clone(), variables }))
            }
            (true, None, None) => Err(missing(&[variables.cert, variables.key])),
            (true, None, Some(_)) => Err(missing(&[variables.cert])),
            (true, Some(_), None) => Err(missing(&[variables.key])),
            (false, Some(_), _) => Err(without(variables.cert)),
            (false, None, Some(_)) => Err(without(variables.key)),
            (false, None, None) => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const VARIABLES: TlsVariables = TlsVariables { switch: "T_TLS=true", cert: "T_CERT", key: "T_KEY" };

    #[rstest]
    #[case::both(true, Some("T_OPTIONAL"), None)]
    #[case::neither(false, None, None)]
    #[case::alone(
        false,
        Some("T_OPTIONAL"),
        Some("T_OPTIONAL is set, but T_TLS=true is not: either set T_TLS=true or remove T_OPTIONAL")
    )]
    fn tls_is_optional_only_where_it_is_on(
        #[case] on: bool,
        #[case] optional: Option<&'static str>,
        #[case] refusal: Option<&str>,
    ) {
        let checked = VARIABLES.check_optional(on, optional).map_err(|error| error.to_string());
        assert_eq!(checked.err().as_deref(), refusal);
    }

    #[rstest]
    #[case::off(false, None, None, Ok(false))]
    #[case::whole(true, Some("c"), Some("k"), Ok(true))]
    #[case::no_files(
        true,
        None,
        None,
        Err("not set: T_CERT (needed by T_TLS=true), T_KEY (needed by T_TLS=true)")
    )]
    #[case::no_key(true, Some("c"), None, Err("not set: T_KEY (needed by T_TLS=true)"))]
    #[case::no_cert(true, None, Some("k"), Err("not set: T_CERT (needed by T_TLS=true)"))]
    #[case::cert_alone(
        false,
        Some("c"),
        None,
        Err("T_CERT is set, but T_TLS=true is not: either set T_TLS=true or remove T_CERT")
    )]
    #[case::key_alone(
        false,
        None,
        Some("k"),
        Err("T_KEY is set, but T_TLS=true is not: either set T_TLS=true or remove T_KEY")
    )]
    fn the_switch_and_the_files_go_together(
        #[case] on: bool,
        #[case] cert: Option<&str>,
        #[case] key: Option<&str>,
        #[case] expected: Result<bool, &str>,
    ) {
        let (cert, key) = (cert.map(PathBuf::from), key.map(PathBuf::from));
        let files = TlsFiles::of(on, cert.as_ref(), key.as_ref(), VARIABLES);
        let result = files.map(|files| files.is_some()).map_err(|error| error.to_string());
        assert_eq!(result, expected.map_err(str::to_owned));
    }
}
