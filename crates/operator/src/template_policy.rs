//! Which ServiceAccounts, Secrets and tokens a partial Pod template may use. Pure.
//!
//! Whoever may create a VmafxNode decides with its template what runs in the namespace, with the operator's permission to
//! create StatefulSets. So a template must not reach what belongs to the release itself:
//!
//! | a template may not                                                   | where                         |
//! |----------------------------------------------------------------------|-------------------------------|
//! | run as `default`, or as the account of another component             | everywhere                    |
//! | mount a token for the API server or the controller                   | everywhere                    |
//! | run as an account of the release: operator, controller               | in the release's namespace    |
//! | use a Secret or claim of the release: its database, its store        | in the release's namespace    |
//! | name another account, a Secret or a token, or reach into the machine | [`TemplateScope::Restricted`] |
//!
//! The webhook reports these violations by field. The renderers check them again, because a resource may be older than the
//! webhook, or there may be none.

pub mod args;
mod reference;
mod restricted;

use std::fmt;

use serde_json::{Map, Value};
use vmafx_api::pod_template::PartialPodTemplate;

pub use self::reference::{SecretReference, secrets};
use self::reference::{TokenReference, claims, tokens};
use crate::webhook::rules::FieldPath;

/// The ServiceAccount of every Pod that names none.
const DEFAULT_ACCOUNT: &str = "default";

/// Kinds of Pods that the operator renders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodRole {
    Worker,
    Trainer,
    /// Of a VmafxJob with `execution: Pod`.
    Job,
}

impl PodRole {
    /// Value of the label of its ServiceAccount.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Worker => "worker",
            Self::Trainer => "trainer",
            Self::Job => "job",
        }
    }

    const fn plural(self) -> &'static str {
        match self {
            Self::Worker => "workers",
            Self::Trainer => "trainers",
            Self::Job => "Pods of jobs",
        }
    }
}

/// The ServiceAccounts that the operator creates in every namespace that needs them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountNames {
    pub worker: String,
    pub trainer: String,
    pub job: String,
}

impl AccountNames {
    pub fn of(&self, role: PodRole) -> &str {
        match role {
            PodRole::Worker => &self.worker,
            PodRole::Trainer => &self.trainer,
            PodRole::Job => &self.job,
        }
    }

    fn role_of(&self, account: &str) -> Option<PodRole> {
        [PodRole::Worker, PodRole::Trainer, PodRole::Job].into_iter().find(|role| self.of(*role) == account)
    }
}

/// How much a template may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum TemplateScope {
    /// No Secrets, no tokens, no ServiceAccount but the operator's own, nothing of the machine.
    Restricted,
    /// Everything but what belongs to the release.
    Any,
}

/// What belongs to the release, in its own namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReleaseNames {
    pub namespace: String,
    pub accounts: Vec<String>,
    pub secrets: Vec<String>,
    /// Volume claims: that of the controller holds its store.
    pub claims: Vec<String>,
}

impl ReleaseNames {
    fn owns_account(&self, namespace: &str, account: &str) -> bool {
        namespace == self.namespace && self.accounts.iter().any(|own| own == account)
    }

    /// Whether a Secret belongs to the release, or has the name that Kubernetes gives token Secrets of its accounts.
    pub fn owns_secret(&self, namespace: &str, secret: &str) -> bool {
        let is_token_of =
            |own: &String| secret.strip_prefix(own.as_str()).is_some_and(|rest| rest.starts_with("-token"));
        namespace == self.namespace
            && (self.secrets.iter().any(|own| own == secret) || self.accounts.iter().any(is_token_of))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplatePolicy {
    pub scope: TemplateScope,
    pub accounts: AccountNames,
    pub release: ReleaseNames,
    /// Audience of the tokens for the controller.
    pub audience: String,
}

/// A field of a template that uses what it must not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateViolation {
    pub field: FieldPath,
    pub advice: String,
}

impl fmt::Display for TemplateViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.advice)
    }
}

/// A template that is not rendered; the text lists its violations.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0}")]
pub struct ForbiddenTemplate(String);

impl TemplatePolicy {
    /// The account of the rendered Pods.
    pub fn account(&self, role: PodRole) -> &str {
        self.accounts.of(role)
    }

    /// Refuses a template with violations, and a registry Secret of the release.
    pub fn check(
        &self,
        namespace: &str,
        role: PodRole,
        template: Option<&PartialPodTemplate>,
        registry_secret: Option<&str>,
    ) -> Result<(), ForbiddenTemplate> {
        let mut all = registry_secret.map(|name| self.registry(namespace, name)).unwrap_or_default();
        if let Some(template) = template {
            all.extend(self.violations(namespace, role, &template.0));
        }
        let texts: Vec<_> = all.iter().map(ToString::to_string).collect();
        if texts.is_empty() { Ok(()) } else { Err(ForbiddenTemplate(texts.join("; "))) }
    }

    /// Violations of `spec.registrySecret`.
    pub fn registry(&self, namespace: &str, name: &str) -> Vec<TemplateViolation> {
        let field = FieldPath::spec().field("registrySecret");
        if self.release.owns_secret(namespace, name) { vec![secret_of_release(field, name)] } else { vec![] }
    }

    /// Violations of `spec.podTemplate`.
    pub fn violations(
        &self,
        namespace: &str,
        role: PodRole,
        template: &Map<String, Value>,
    ) -> Vec<TemplateViolation> {
        let Some(spec) = template.get("spec") else { return Vec::new() };
        let path = FieldPath::spec().field("podTemplate").field("spec");
        let mut all = self.account_violations(namespace, role, &path, spec);
        for SecretReference { field, name } in secrets(&path, spec) {
            match name {
                Some(name) if self.release.owns_secret(namespace, &name) => {
                    all.push(secret_of_release(field, &name));
                }
                _ if self.scope == TemplateScope::Restricted => all.push(restricted::secret(field)),
                _ => {}
            }
        }
        for (field, name) in claims(&path, spec) {
            if namespace == self.release.namespace && self.release.claims.contains(&name) {
                let advice = format!("the claim {name} belongs to the release of VMAFX: remove it");
                all.push(TemplateViolation { field, advice });
            }
        }
        for TokenReference { field, audience } in tokens(&path, spec) {
            let advice = match audience {
                Some(audience) if audience == self.audience => {
                    "the operator mounts the token for the controller: remove it"
                }
                Some(_) if self.scope == TemplateScope::Any => continue,
                Some(_) => restricted::TOKEN,
                None => "these Pods get no token for the API server: remove it, or set its audience",
            };
            all.push(TemplateViolation { field, advice: advice.to_owned() });
        }
        if self.scope == TemplateScope::Restricted {
            restricted::machine(&path, spec, &mut all);
        }
        all
    }

    fn account_violations(
        &self,
        namespace: &str,
        role: PodRole,
        path: &FieldPath,
        spec: &Value,
    ) -> Vec<TemplateViolation> {
        let mut all = Vec::new();
        let mut refuse =
            |field: &str, advice: String| all.push(TemplateViolation { field: path.field(field), advice });
        if let Some(name) = spec.get("serviceAccountName")
            && let Some(advice) = self.account_advice(namespace, role, name.as_str().unwrap_or_default())
        {
            refuse("serviceAccountName", advice);
        }
        if spec.get("serviceAccount").is_some() {
            refuse("serviceAccount", "is deprecated: use serviceAccountName".to_owned());
        }
        if spec.get("automountServiceAccountToken").is_some_and(|mounted| *mounted != Value::Bool(false)) {
            let advice = "these Pods get no token for the API server: remove it";
            refuse("automountServiceAccountToken", advice.to_owned());
        }
        all
    }

    /// Why Pods of this role may not run as an account; `None` if they may.
    fn account_advice(&self, namespace: &str, role: PodRole, account: &str) -> Option<String> {
        let own = self.accounts.of(role);
        if account == own {
            return None;
        }
        let instead = format!("remove it, so that they run as {own}");
        let whose = role.plural();
        if account.is_empty() {
            return Some(format!("is empty: {instead}"));
        }
        if account == DEFAULT_ACCOUNT {
            return Some(format!("{whose} do not run as default, which every other Pod is, too: {instead}"));
        }
        if self.release.owns_account(namespace, account) {
            return Some(format!("{account} belongs to the release of VMAFX: {instead}"));
        }
        if let Some(other) = self.accounts.role_of(account) {
            return Some(format!(
                "{account} is the account of {}, not of {whose}: {instead}",
                other.plural()
            ));
        }
        (self.scope == TemplateScope::Restricted).then(|| {
            format!("templates may not choose an account here: {instead}, or {}", restricted::PERMIT)
        })
    }
}

fn secret_of_release(field: FieldPath, name: &str) -> TemplateViolation {
    TemplateViolation {
        field,
        advice: format!("the Secret {name} belongs to the release of VMAFX: remove it"),
    }
}

#[cfg(test)]
pub(crate) mod tests;
