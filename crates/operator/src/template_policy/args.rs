//! Settings of ServiceAccounts and Pod templates.

use super::{AccountNames, DEFAULT_ACCOUNT, ReleaseNames, TemplatePolicy, TemplateScope};
use crate::webhook::WebhookArgs;

/// Flattened into the operator's settings.
#[derive(Clone, Debug, clap::Args)]
pub struct TemplateArgs {
    /// `ServiceAccount` of workers, which the operator creates in every namespace with a `VmafxNode`.
    #[arg(long, env = "VMAFX_OPERATOR_WORKER_ACCOUNT", value_name = "NAME", default_value = "vmafx-worker",
          value_parser = account)]
    pub worker_account: String,

    /// `ServiceAccount` of trainers, which the operator creates in every namespace with a `VmafxModelTraining`.
    #[arg(long, env = "VMAFX_OPERATOR_TRAINER_ACCOUNT", value_name = "NAME", default_value = "vmafx-trainer",
          value_parser = account)]
    pub trainer_account: String,

    /// `ServiceAccount` of jobs with execution: Pod, which the operator creates in every namespace with such a job. It needs
    /// no role at the controller.
    #[arg(long, env = "VMAFX_OPERATOR_JOB_ACCOUNT", value_name = "NAME", default_value = "vmafx-job",
          value_parser = account)]
    pub job_account: String,

    /// `ServiceAccounts` in the operator's namespace that no Pod template may name: those of operator and controller.
    #[arg(
        long,
        env = "VMAFX_OPERATOR_RELEASE_ACCOUNTS",
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "vmafx-operator,vmafx-controller"
    )]
    pub release_accounts: Vec<String>,

    /// Secrets in the operator's namespace that no Pod template may use, besides that of the webhooks: the database and
    /// certificates of the controller.
    #[arg(long, env = "VMAFX_OPERATOR_RELEASE_SECRETS", value_name = "LIST", value_delimiter = ',')]
    pub release_secrets: Vec<String>,

    /// Volume claims in the operator's namespace that no Pod template may mount: that of the controller's store.
    #[arg(long, env = "VMAFX_OPERATOR_RELEASE_CLAIMS", value_name = "LIST", value_delimiter = ',')]
    pub release_claims: Vec<String>,

    /// What Pod templates may use where this operator serves no webhooks: restricted permits no Secrets, tokens,
    /// `ServiceAccounts` and host access, any permits all of them. With the webhooks, their author's permissions decide.
    #[arg(long, env = "VMAFX_OPERATOR_POD_TEMPLATES", value_name = "SCOPE", value_enum,
          default_value_t = TemplateScope::Restricted)]
    pub pod_templates: TemplateScope,
}

impl TemplateArgs {
    /// `namespace` is that of the operator.
    pub fn policy(&self, webhook: &WebhookArgs, namespace: &str, audience: &str) -> TemplatePolicy {
        let given =
            |list: &[String]| list.iter().filter(|name| !name.is_empty()).cloned().collect::<Vec<_>>();
        let mut secrets = given(&self.release_secrets);
        secrets.push(webhook.webhook_secret.clone());
        TemplatePolicy {
            scope: if webhook.webhook_port > 0 { TemplateScope::Any } else { self.pod_templates },
            accounts: AccountNames {
                worker: self.worker_account.clone(),
                trainer: self.trainer_account.clone(),
                job: self.job_account.clone(),
            },
            release: ReleaseNames {
                namespace: namespace.to_owned(),
                accounts: given(&self.release_accounts),
                secrets,
                claims: given(&self.release_claims),
            },
            audience: audience.to_owned(),
        }
    }
}

fn account(name: &str) -> Result<String, String> {
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
    if name == DEFAULT_ACCOUNT {
        return Err("every Pod that names no account is this one: use another name".to_owned());
    }
    if name.is_empty() || !name.bytes().all(is_part) {
        return Err("it is not the name of a ServiceAccount, such as vmafx-worker".to_owned());
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use rstest::rstest;

    use super::*;

    #[derive(Parser)]
    struct Settings {
        #[command(flatten)]
        templates: TemplateArgs,
        #[command(flatten)]
        webhook: WebhookArgs,
    }

    fn policy(list: &[&str]) -> Result<TemplatePolicy, String> {
        let settings =
            Settings::try_parse_from(["t"].iter().chain(list)).map_err(|error| error.to_string())?;
        Ok(settings.templates.policy(&settings.webhook, "ns", "aud"))
    }

    #[rstest]
    #[case::default(&[], TemplateScope::Restricted)]
    #[case::any(&["--pod-templates=any"], TemplateScope::Any)]
    #[case::webhook(&["--webhook-port=9443", "--pod-templates=restricted"], TemplateScope::Any)]
    fn templates_are_restricted_where_nobody_reviews_them(
        #[case] list: &[&str],
        #[case] scope: TemplateScope,
    ) {
        assert_eq!(policy(list).unwrap().scope, scope);
    }

    #[test]
    fn the_secret_of_the_webhooks_belongs_to_the_release() {
        let policy = policy(&["--release-secrets=database,", "--webhook-secret=ca"]).unwrap();
        assert_eq!(policy.release.secrets, ["database", "ca"]);
    }

    #[rstest]
    #[case("default", "every Pod that names no account")]
    #[case("", "it is not the name of a ServiceAccount")]
    #[case("a b", "it is not the name of a ServiceAccount")]
    fn an_account_that_cannot_be_dedicated_is_refused(#[case] name: &str, #[case] why: &str) {
        let error = policy(&[&format!("--worker-account={name}")]).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
}
