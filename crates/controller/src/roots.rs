//! The scoring roots and report roots of tenants: the settings, and the text of a denial. The rules are those of
//! [`ScoringRoots`].

use vmafx_job::{AddressDenied, DenialReason, RootError, ScoringRoots};
use vmafx_kit::config::SettingsError;
use vmafx_queue::TenantId;

use crate::auth::namespaces::{self, NamespaceTenants};
use crate::service::Roots;

pub(crate) const VARIABLE: &str = "VMAFX_SCORING_ROOTS";
pub(crate) const REPORTS_VARIABLE: &str = "VMAFX_REPORT_ROOTS";
const TENANT_PLACEHOLDER: &str = "{tenant}";

#[derive(Clone, Debug, Default, clap::Args)]
pub struct RootsArgs {
    /// Permitted locations of clips, separated by commas: directories, URL prefixes, `s3://bucket/prefix`,
    /// `remote:path`; `{tenant}` and, if each namespace is a tenant, `{namespace}` stand for those of the caller. Unset:
    /// every job is refused.
    #[arg(long, env = "VMAFX_SCORING_ROOTS", value_name = "LIST")]
    pub scoring_roots: Option<String>,

    /// Permitted locations of reports, in the same syntax. Unset: the scoring roots, so that a report may be beside the
    /// clips or, with overwriteReport, replace one.
    #[arg(long, env = "VMAFX_REPORT_ROOTS", value_name = "LIST")]
    pub report_roots: Option<String>,
}

/// The permitted locations of clips and of reports.
#[derive(Clone, Debug, Default)]
pub struct PermittedRoots {
    pub(crate) clips: ScoringRoots,
    /// Empty: those of the clips.
    pub(crate) reports: ScoringRoots,
}

impl RootsArgs {
    pub fn open(&self, namespaces: Option<&NamespaceTenants>) -> Result<PermittedRoots, SettingsError> {
        Ok(PermittedRoots {
            clips: parse(VARIABLE, self.scoring_roots.as_deref(), namespaces)?,
            reports: parse(REPORTS_VARIABLE, self.report_roots.as_deref(), namespaces)?,
        })
    }
}

fn parse(
    variable: &str,
    list: Option<&str>,
    namespaces: Option<&NamespaceTenants>,
) -> Result<ScoringRoots, SettingsError> {
    let list = list.unwrap_or_default();
    let refused =
        |value: String, reason: String| SettingsError::Value { variable: variable.to_owned(), value, reason };
    if namespaces != Some(&NamespaceTenants::Each) && list.contains(namespaces::PLACEHOLDER) {
        let reason =
            "{namespace} needs a tenant for each namespace: set VMAFX_AUTH_DEFAULT_TENANT={namespace}";
        return Err(refused(list.to_owned(), reason.to_owned()));
    }
    let list = list.replace(namespaces::PLACEHOLDER, TENANT_PLACEHOLDER);
    ScoringRoots::parse(&list, TENANT_PLACEHOLDER)
        .map_err(|error| refused(error.root.clone(), error.problem.to_string()))
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

impl Roots for PermittedRoots {
    fn of(&self, tenant: &TenantId) -> Vec<String> {
        self.clips.expand(tenant.as_str()).iter().map(ToString::to_string).collect()
    }

    fn check(&self, tenant: &TenantId, address: &str) -> Result<(), String> {
        let denied = self.clips.check_address(tenant.as_str(), address);
        denied.map_err(|denied| denial(&denied, "scoring roots", VARIABLE, "scoring.roots"))
    }

    fn of_reports(&self, tenant: &TenantId) -> Vec<String> {
        self.reports.expand(tenant.as_str()).iter().map(ToString::to_string).collect()
    }

    fn check_report(&self, tenant: &TenantId, address: &str) -> Result<(), String> {
        if self.reports.is_empty() {
            return self.check(tenant, address);
        }
        let denied = self.reports.check_address(tenant.as_str(), address);
        denied.map_err(|denied| denial(&denied, "report roots", REPORTS_VARIABLE, "reports.roots"))
    }
}

fn denial(
    AddressDenied { address, reason }: &AddressDenied,
    roots: &str,
    variable: &str,
    field: &str,
) -> String {
    match reason {
        DenialReason::NoRoots => {
            format!(
                "{address} cannot be scored: no scoring roots are configured ({variable}, or the tenant's {field})"
            )
        }
        DenialReason::InvalidAddress(problem) => format!("{address} cannot be used: {problem}"),
        DenialReason::OutsideRoots => format!(
            "{address} is outside the {roots} of your tenant: use an address inside them, or have its location added \
             ({variable}, or the tenant's {field})"
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

    fn args(list: &str) -> RootsArgs {
        RootsArgs { scoring_roots: Some(list.to_owned()), report_roots: None }
    }

    fn roots(list: &str) -> PermittedRoots {
        args(list).open(None).unwrap()
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
        let args = args("/media/{namespace}");
        let roots = args.open(Some(&NamespaceTenants::Each)).unwrap();
        assert!(roots.check(&tenant("a"), "/media/a/x").is_ok());
        assert!(roots.check(&tenant("a"), "/media/b/x").is_err());
        let error = args.open(Some(&NamespaceTenants::One(tenant("a")))).unwrap_err().to_string();
        assert!(error.contains("set VMAFX_AUTH_DEFAULT_TENANT={namespace}"), "{error}");
    }

    #[test]
    fn reports_have_roots_of_their_own_if_any_are_set() {
        let acme = tenant("acme");
        let shared = roots("/media/{tenant}");
        assert_eq!(
            (shared.of_reports(&acme), shared.check_report(&acme, "/media/acme/r.json")),
            (vec![], Ok(()))
        );
        let reports = Some("/reports/{tenant}".to_owned());
        let separate = RootsArgs { report_roots: reports, ..args("/media/{tenant}") }.open(None).unwrap();
        assert_eq!(separate.of_reports(&acme), ["/reports/acme"]);
        assert_eq!(separate.check_report(&acme, "/reports/acme/r.json"), Ok(()));
        for place in ["/media/acme/r.json", "/reports/other/r.json"] {
            let error = separate.check_report(&acme, place).unwrap_err();
            assert!(error.contains("is outside the report roots of your tenant"), "{error}");
            assert!(error.contains("VMAFX_REPORT_ROOTS, or the tenant's reports.roots"), "{error}");
        }
        let list = Some("/reports/{namespace}".to_owned());
        let error = RootsArgs { report_roots: list, ..args("/media") }.open(None).unwrap_err().to_string();
        assert!(error.starts_with("VMAFX_REPORT_ROOTS cannot be"), "{error}");
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
        let error = args(list).open(None).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}
