//! The scoring roots of a tenant: the setting, and the text of a denial. The rules are those of [`ScoringRoots`].

use vmafx_job::{AddressDenied, DenialReason, RootError, ScoringRoots};
use vmafx_kit::config::SettingsError;
use vmafx_queue::TenantId;

use crate::auth::namespaces::{self, NamespaceTenants};
use crate::service::Roots;

pub(crate) const VARIABLE: &str = "VMAFX_SCORING_ROOTS";
const TENANT_PLACEHOLDER: &str = "{tenant}";

#[derive(Clone, Debug, Default, clap::Args)]
pub struct RootsArgs {
    /// Permitted locations of clips, separated by commas: directories, URL prefixes, `s3://bucket/prefix`,
    /// `remote:path`; `{tenant}` and, if each namespace is a tenant, `{namespace}` stand for those of the caller. Unset:
    /// every job is refused.
    #[arg(long, env = "VMAFX_SCORING_ROOTS", value_name = "LIST")]
    pub scoring_roots: Option<String>,
}

impl RootsArgs {
    pub fn open(&self, namespaces: Option<&NamespaceTenants>) -> Result<ScoringRoots, SettingsError> {
        let list = self.scoring_roots.as_deref().unwrap_or_default();
        let refused = |value: String, reason: String| SettingsError::Value {
            variable: VARIABLE.to_owned(),
            value,
            reason,
        };
        if namespaces != Some(&NamespaceTenants::Each) && list.contains(namespaces::PLACEHOLDER) {
            let reason =
                "{namespace} needs a tenant for each namespace: set VMAFX_AUTH_DEFAULT_TENANT={namespace}";
            return Err(refused(list.to_owned(), reason.to_owned()));
        }
        let list = list.replace(namespaces::PLACEHOLDER, TENANT_PLACEHOLDER);
        ScoringRoots::parse(&list, TENANT_PLACEHOLDER)
            .map_err(|error| refused(error.root.clone(), error.problem.to_string()))
    }
}

/// The roots of a declared tenant, in which `{namespace}` stands for each of its namespaces: they share the tenant's jobs, so
/// each may use the clips of the others. The error names the root.
pub(crate) fn of_tenant(roots: &[String], namespaces: &[String]) -> Result<ScoringRoots, String> {
    let mut expanded = Vec::with_capacity(roots.len());
    for root in roots {
        if !root.contains(namespaces::PLACEHOLDER) {
            expanded.push(root.clone());
        } else if namespaces.is_empty() {
            return Err(format!(
                "{root:?}: {{namespace}} stands for the tenant's namespaces, and it lists none"
            ));
        } else {
            expanded.extend(namespaces.iter().map(|name| root.replace(namespaces::PLACEHOLDER, name)));
        }
    }
    ScoringRoots::from_roots(expanded.iter().map(String::as_str), TENANT_PLACEHOLDER)
        .map_err(|RootError { root, problem }| format!("{root:?}: {problem}"))
}

impl Roots for ScoringRoots {
    fn of(&self, tenant: &TenantId) -> Vec<String> {
        self.expand(tenant.as_str()).iter().map(ToString::to_string).collect()
    }

    fn check(&self, tenant: &TenantId, address: &str) -> Result<(), String> {
        self.check_address(tenant.as_str(), address).map_err(|denied| denial(&denied))
    }
}

fn denial(AddressDenied { address, reason }: &AddressDenied) -> String {
    match reason {
        DenialReason::NoRoots => {
            format!(
                "{address} cannot be scored: no scoring roots are configured ({VARIABLE}, or the tenant's scoring.roots)"
            )
        }
        DenialReason::InvalidAddress(problem) => format!("{address} cannot be used: {problem}"),
        DenialReason::OutsideRoots => format!(
            "{address} is outside the scoring roots of your tenant: use an address inside them, or have its \
             location added ({VARIABLE}, or the tenant's scoring.roots)"
        ),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn tenant(name: &str) -> TenantId {
        TenantId::new(name).unwrap()
    }

    fn roots(list: &str) -> ScoringRoots {
        RootsArgs { scoring_roots: Some(list.to_owned()) }.open(None).unwrap()
    }

    #[test]
    fn without_roots_every_address_is_denied_and_the_message_says_so() {
        assert_eq!(
            roots(" , ").check(&tenant("acme"), "/data/a").unwrap_err(),
            "\"/data/a\" cannot be scored: no scoring roots are configured (VMAFX_SCORING_ROOTS, or the tenant's \
             scoring.roots)"
        );
    }

    #[test]
    fn a_refusal_names_the_address_without_its_query_and_no_root() {
        let roots = roots("/secret/of/others,https://h/p");
        let error = roots.check(&tenant("acme"), "https://h/x?signature=abc").unwrap_err();
        assert!(
            error.starts_with("\"https://h/x\" is outside the scoring roots of your tenant: "),
            "{error}"
        );
        assert!(!error.contains("secret") && !error.contains("abc"), "{error}");
    }

    #[test]
    fn the_namespace_is_the_tenant_if_each_namespace_is_one() {
        let args = RootsArgs { scoring_roots: Some("/media/{namespace}".to_owned()) };
        let roots = args.open(Some(&NamespaceTenants::Each)).unwrap();
        assert!(roots.check(&tenant("a"), "/media/a/x").is_ok());
        assert!(roots.check(&tenant("a"), "/media/b/x").is_err());
        let error = args.open(Some(&NamespaceTenants::One(tenant("a")))).unwrap_err().to_string();
        assert!(error.contains("set VMAFX_AUTH_DEFAULT_TENANT={namespace}"), "{error}");
    }

    #[test]
    fn a_tenant_stays_out_of_the_directory_of_another() {
        let roots = roots("/data/{tenant}");
        assert!(roots.check(&tenant("a"), "/data/a/x").is_ok());
        assert!(roots.check(&tenant("a"), "/data/ab/x").is_err());
        assert!(roots.check(&tenant(".."), "/etc/x").is_err());
    }

    #[rstest]
    #[case::relative("data", "VMAFX_SCORING_ROOTS cannot be \"data\": it is neither an absolute path")]
    #[case::dots("/ok,/data/../x", "VMAFX_SCORING_ROOTS cannot be \"/data/../x\": it has a \"..\"")]
    #[case::query("https://h/p?x", "VMAFX_SCORING_ROOTS cannot be \"https://h/p?x\": it has a ? or #")]
    #[case::template(
        "{tenant}",
        "VMAFX_SCORING_ROOTS cannot be \"{tenant}\": it is neither an absolute path"
    )]
    fn a_bad_root_is_refused_at_start(#[case] list: &str, #[case] expected: &str) {
        let error = RootsArgs { scoring_roots: Some(list.to_owned()) }.open(None).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}
