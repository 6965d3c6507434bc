//! The settings of authentication and their validation at start.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use vmafx_job::TenantLimits;
use vmafx_kit::config::{GoDuration, SettingsError};
use vmafx_queue::TenantId;

use super::authenticator::{Authenticator, Inner};
use super::clocks::Clocks;
use super::config_file::{self, ConfigFileError};
use super::issuer::IssuerName;
use super::issuers::Issuers;
use super::jwks::{Endpoint, Fetcher, KeyCache};
use super::metrics::AuthMetrics;
use super::metrics_token::MetricsToken;
use super::namespaces::NamespaceTenants;
use super::provider::{ClaimNames, Provider, SubjectMap};
use super::refresher::AuthRefresher;
use super::reloading_file::ReloadingFile;
use super::static_tokens::StaticTokens;
use super::subjects::Subjects;
use super::tenants::{TenantRegistry, TenantResources, TenantRoots, TenantRules, TenantSource, TenantsFile};
use super::token_cache::TokenCache;
use crate::identity::{Identity, Role, Roles, SubjectSource};
use crate::pools::SharingArgs;
use crate::roots::{self, RootsArgs};
use crate::service;

const DISABLED: &str = "VMAFX_AUTH_DISABLED";
const JWKS: &str = "VMAFX_JWKS_ENDPOINT";
const JWKS_CA: &str = "VMAFX_JWKS_CA_FILE";
pub(super) const JWKS_TOKEN: &str = "VMAFX_JWKS_TOKEN_FILE";
const ISSUER: &str = "VMAFX_AUTH_ISSUER";
const AUDIENCE: &str = "VMAFX_AUTH_AUDIENCE";
const TOKEN_FILE: &str = "VMAFX_AUTH_TOKEN_FILE";
const METRICS_TOKEN_FILE: &str = "VMAFX_AUTH_METRICS_TOKEN_FILE";
const SUBJECTS: &str = "VMAFX_AUTH_SUBJECTS";
const DEFAULT_TENANT: &str = "VMAFX_AUTH_DEFAULT_TENANT";
const OPERATOR_SUBJECT: &str = "VMAFX_AUTH_OPERATOR_SUBJECT";
const TENANTS: &str = "VMAFX_AUTH_TENANTS_SOURCE";
const TENANTS_FILE: &str = "VMAFX_AUTH_TENANTS_FILE";
const TENANTS_REFRESH: &str = "VMAFX_AUTH_TENANTS_REFRESH";

/// Values of `VMAFX_AUTH_TENANTS_SOURCE`.
const FILE: &str = "file";
const KUBERNETES: &str = "kubernetes";

#[derive(Clone, Debug, clap::Args)]
pub struct AuthArgs {
    /// Disable authentication: every caller is admin and node of tenant dev. Only for development.
    #[arg(long, env = "VMAFX_AUTH_DISABLED")]
    pub auth_disabled: bool,

    /// URL of the issuer's JSON Web Key Set. In a cluster: `https://kubernetes.default.svc/openid/v1/jwks`.
    #[arg(long, env = "VMAFX_JWKS_ENDPOINT", value_name = "URL")]
    pub jwks_endpoint: Option<String>,

    /// PEM file with the CA certificates to trust when fetching keys. Default: those of the system.
    #[arg(long, env = "VMAFX_JWKS_CA_FILE", value_name = "FILE")]
    pub jwks_ca_file: Option<PathBuf>,

    /// File with the bearer token to send when fetching keys, which a cluster requires.
    #[arg(long, env = "VMAFX_JWKS_TOKEN_FILE", value_name = "FILE")]
    pub jwks_token_file: Option<PathBuf>,

    /// Required iss of tokens. Default: the iss of the token in `VMAFX_JWKS_TOKEN_FILE`.
    #[arg(long, env = "VMAFX_AUTH_ISSUER", value_name = "ISSUER")]
    pub auth_issuer: Option<String>,

    /// Required aud of tokens. Unset: any audience is accepted.
    #[arg(long, env = "VMAFX_AUTH_AUDIENCE", value_name = "AUDIENCE")]
    pub auth_audience: Option<String>,

    /// Claim that names the tenant.
    #[arg(long, env = "VMAFX_AUTH_TENANT_CLAIM", value_name = "CLAIM", default_value = "tid")]
    pub auth_tenant_claim: String,

    /// Claim that names the roles.
    #[arg(long, env = "VMAFX_AUTH_ROLES_CLAIM", value_name = "CLAIM", default_value = "vmafx_roles")]
    pub auth_roles_claim: String,

    /// YAML file with static tokens: tokens: [{token or sha256, tenant, roles, subject}].
    #[arg(long, env = "VMAFX_AUTH_TOKEN_FILE", value_name = "FILE")]
    pub auth_token_file: Option<PathBuf>,

    /// File with the token of the scraper whose /metrics name tenants. All others get the sums over all tenants.
    #[arg(long, env = "VMAFX_AUTH_METRICS_TOKEN_FILE", value_name = "FILE")]
    pub auth_metrics_token_file: Option<PathBuf>,

    /// Roles of subjects such as service accounts: subject=role+role,… or the absolute path of a YAML file.
    #[arg(long, env = "VMAFX_AUTH_SUBJECTS", value_name = "LIST|FILE")]
    pub auth_subjects: Option<String>,

    /// Tenant of the subjects in `VMAFX_AUTH_SUBJECTS` that have none of their own; `{namespace}` makes the namespace of
    /// each ServiceAccount its tenant. Namespaces that a VmafxTenant lists belong to that.
    #[arg(long, env = "VMAFX_AUTH_DEFAULT_TENANT", value_name = "TENANT")]
    pub auth_default_tenant: Option<String>,

    /// Subject of the operator, the only one that may call for any namespace.
    #[arg(long, env = "VMAFX_AUTH_OPERATOR_SUBJECT", value_name = "SUBJECT")]
    pub auth_operator_subject: Option<String>,

    /// Source of declared tenants: file, or kubernetes for the VmafxTenant resources of one namespace.
    #[arg(long, env = "VMAFX_AUTH_TENANTS_SOURCE", value_name = "SOURCE")]
    pub auth_tenants_source: Option<String>,

    /// YAML file with tenants and their issuers.
    #[arg(long, env = "VMAFX_AUTH_TENANTS_FILE", value_name = "FILE")]
    pub auth_tenants_file: Option<PathBuf>,

    /// Namespace of the VmafxTenant resources. Default: that of the Pod, or of the kubeconfig.
    #[arg(long, env = "POD_NAMESPACE", value_name = "NAMESPACE")]
    pub namespace: Option<String>,

    /// Interval at which the tenants are read again; after ten without success every call is refused.
    #[arg(long, env = "VMAFX_AUTH_TENANTS_REFRESH", value_name = "DURATION", default_value = "30s")]
    pub auth_tenants_refresh: GoDuration,
}

#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    #[error("the authentication settings are invalid")]
    Settings(#[from] SettingsError),
    #[error("an authentication file is invalid")]
    File(#[from] ConfigFileError),
    #[error("there is no access to a cluster, which {TENANTS}=kubernetes needs")]
    Cluster(#[from] kube::Error),
    #[error(
        "authentication is not configured: set {JWKS} and {ISSUER} for tokens of an issuer, {TOKEN_FILE} for static \
         tokens, {TENANTS}=file or kubernetes for several tenants, or, for development only, {DISABLED}=true"
    )]
    NotConfigured,
}

#[derive(Clone)]
pub struct Access {
    pub authenticator: Authenticator,
    /// Declared tenants have roots of their own, so roots depend on the authentication settings.
    pub roots: Arc<dyn service::Roots>,
    declared: Option<Arc<TenantRegistry>>,
    namespaces: Option<NamespaceTenants>,
    pub refresher: AuthRefresher,
}

impl Access {
    /// `limits` and `sharing` are those of tenants that declare none of their own.
    pub fn tenant_rules(&self, limits: TenantLimits, sharing: SharingArgs) -> TenantRules {
        TenantRules::new(self.declared.clone(), self.namespaces.clone(), limits, sharing)
    }
}

impl AuthArgs {
    /// Validates the settings and reads the files.
    pub async fn open(
        &self,
        scoring_roots: &RootsArgs,
        clocks: Clocks,
        metrics: AuthMetrics,
    ) -> Result<Access, AuthError> {
        self.check(scoring_roots)?;
        let tokens = match &self.auth_token_file {
            Some(file) if !self.auth_disabled => {
                let tokens = ReloadingFile::open(file.clone(), TOKEN_FILE, StaticTokens::parse).await?;
                config_file::warn_if_world_readable(file).await;
                Some(tokens)
            }
            _ => None,
        };
        let metrics_token = match &self.auth_metrics_token_file {
            Some(file) if !self.auth_disabled => {
                config_file::warn_if_world_readable(file).await;
                Some(ReloadingFile::open(file.clone(), METRICS_TOKEN_FILE, MetricsToken::parse).await?)
            }
            _ => None,
        };
        let anonymous = if self.auth_disabled { Some(anonymous(&metrics)?) } else { None };
        let issuers = match anonymous {
            Some(_) => Issuers::default(),
            None => self.issuers(&clocks, &metrics).await?,
        };
        let nobody = anonymous.is_none() && tokens.is_none();
        if nobody && issuers.provider.is_none() && issuers.tenants.is_none() {
            return Err(AuthError::NotConfigured);
        }
        let configured = scoring_roots.open(issuers.namespaces.as_ref())?;
        let roots: Arc<dyn service::Roots> = match &issuers.tenants {
            Some(registry) => {
                Arc::new(TenantRoots { registry: Arc::clone(registry), undeclared: configured })
            }
            None => Arc::new(configured),
        };
        let (declared, namespaces) = (issuers.tenants.clone(), issuers.namespaces.clone());
        let signal = declared.as_ref().map(|registry| registry.signal().clone()).unwrap_or_default();
        let inner = Inner {
            anonymous,
            issuers,
            tokens,
            metrics_token,
            cache: TokenCache::default(),
            clocks,
            metrics,
            signal,
        };
        let authenticator = Authenticator(Arc::new(inner));
        Ok(Access {
            refresher: AuthRefresher(authenticator.clone()),
            authenticator,
            roots,
            declared,
            namespaces,
        })
    }

    async fn issuers(&self, clocks: &Clocks, metrics: &AuthMetrics) -> Result<Issuers, AuthError> {
        let namespaces = self.namespace_tenants()?;
        let provider = self.provider(namespaces.as_ref(), clocks, metrics).await?;
        let tenants = self.tenants(clocks, metrics).await?.map(Arc::new);
        Ok(Issuers { provider, tenants, namespaces })
    }

    async fn tenants(
        &self,
        clocks: &Clocks,
        metrics: &AuthMetrics,
    ) -> Result<Option<TenantRegistry>, AuthError> {
        let source = if let Some(file) = &self.auth_tenants_file {
            TenantSource::File(TenantsFile(file.clone()))
        } else if self.has_tenant_resources() {
            let client = kube::Client::try_default().await?;
            let namespace = self.namespace.clone().unwrap_or_else(|| client.default_namespace().to_owned());
            tracing::info!(namespace, "the tenants are the VmafxTenant resources of one namespace");
            TenantSource::Kubernetes(Box::new(TenantResources::new(client, namespace)))
        } else {
            return Ok(None);
        };
        // The certificates are those of one issuer, that of the settings if there is one.
        let ca_file = self.jwks_ca_file.clone().filter(|_| self.jwks_endpoint.is_none());
        let interval = self.auth_tenants_refresh.0;
        let registry = TenantRegistry::new(source, interval, ca_file, clocks.clone(), metrics.clone());
        registry.require_valid_file().await?;
        Ok(Some(registry))
    }

    async fn provider(
        &self,
        namespaces: Option<&NamespaceTenants>,
        clocks: &Clocks,
        metrics: &AuthMetrics,
    ) -> Result<Option<Provider>, AuthError> {
        let Some(endpoint) = &self.jwks_endpoint else { return Ok(None) };
        let issuer = match (&self.auth_issuer, &self.jwks_token_file) {
            (Some(name), _) => IssuerName::Configured(Arc::new(name.clone())),
            (None, Some(file)) => IssuerName::from_token_file(file).await?,
            (None, None) => return Err(AuthError::NotConfigured),
        };
        let endpoint: Endpoint = endpoint.parse().map_err(|error| invalid_value(JWKS, endpoint, &error))?;
        if endpoint.is_unencrypted() {
            tracing::warn!(%endpoint, "the issuer's keys are fetched without encryption: use https ({JWKS})");
        }
        if self.auth_audience.is_none() {
            tracing::warn!("tokens for any audience are accepted: set {AUDIENCE}");
        }
        let fetcher = Fetcher::new(endpoint, self.jwks_ca_file.clone(), self.jwks_token_file.clone());
        let names =
            ClaimNames { tenant: self.auth_tenant_claim.clone(), roles: self.auth_roles_claim.clone() };
        Ok(Some(Provider {
            issuer,
            audience: self.auth_audience.clone(),
            names: Some(names).filter(|_| self.auth_tenants_source.is_none()),
            keys: Arc::new(KeyCache::new(fetcher, clocks.clone(), metrics.clone())),
            subjects: self.subjects(namespaces.cloned()).await?,
            operator: self.auth_operator_subject.clone(),
        }))
    }

    fn has_tenant_resources(&self) -> bool {
        self.auth_tenants_source.as_deref() == Some(KUBERNETES)
    }

    fn namespace_tenants(&self) -> Result<Option<NamespaceTenants>, SettingsError> {
        let Some(value) = &self.auth_default_tenant else {
            return Ok(self.has_tenant_resources().then_some(NamespaceTenants::Declared));
        };
        let tenants = NamespaceTenants::parse(value);
        tenants.map(Some).map_err(|error| invalid_value(DEFAULT_TENANT, value, &error))
    }

    async fn subjects(&self, default: Option<NamespaceTenants>) -> Result<SubjectMap, AuthError> {
        match &self.auth_subjects {
            // Only a path starts with a slash: no issuer has such subjects.
            Some(file) if file.starts_with('/') => {
                let parse = move |text: &str| Subjects::parse_file(text, default.as_ref());
                Ok(SubjectMap::File(ReloadingFile::open(file.into(), SUBJECTS, parse).await?))
            }
            Some(list) => {
                let subjects = Subjects::parse_list(list, default.as_ref());
                Ok(SubjectMap::Fixed(Arc::new(
                    subjects.map_err(|problem| invalid_value(SUBJECTS, list, &problem))?,
                )))
            }
            None => Ok(SubjectMap::Fixed(Arc::default())),
        }
    }

    /// Refuses settings that contradict each other or would have no effect.
    fn check(&self, scoring_roots: &RootsArgs) -> Result<(), SettingsError> {
        let without = |variable, needs| Err(SettingsError::Without { variable, needs });
        self.check_tenants(scoring_roots)?;
        let issuer_settings = [
            (self.auth_issuer.is_some(), ISSUER),
            (self.auth_audience.is_some(), AUDIENCE),
            (self.auth_subjects.is_some(), SUBJECTS),
            (self.jwks_token_file.is_some(), JWKS_TOKEN),
        ];
        if self.jwks_endpoint.is_none() {
            if let Some((_, variable)) = issuer_settings.into_iter().find(|(set, _)| *set) {
                return without(variable, JWKS);
            }
            if self.jwks_ca_file.is_some() && self.auth_tenants_source.is_none() {
                return without(JWKS_CA, JWKS);
            }
        } else if self.auth_issuer.is_none() && self.jwks_token_file.is_none() {
            return without(JWKS, ISSUER);
        }
        if self.auth_default_tenant.is_some() && self.auth_subjects.is_none() {
            return without(DEFAULT_TENANT, SUBJECTS);
        }
        let namespaces_have_tenants = self.auth_default_tenant.is_some() || self.has_tenant_resources();
        if self.auth_operator_subject.is_some() && !namespaces_have_tenants {
            return without(OPERATOR_SUBJECT, DEFAULT_TENANT);
        }
        Ok(())
    }

    fn check_tenants(&self, scoring_roots: &RootsArgs) -> Result<(), SettingsError> {
        let Some(source) = self.auth_tenants_source.as_deref() else {
            return match &self.auth_tenants_file {
                Some(_) => Err(SettingsError::Without {
                    variable: TENANTS_FILE,
                    needs: "VMAFX_AUTH_TENANTS_SOURCE=file",
                }),
                None => Ok(()),
            };
        };
        if self.auth_disabled {
            return Err(SettingsError::Both { first: DISABLED, second: TENANTS });
        }
        match source {
            FILE => self.check_tenants_file(scoring_roots)?,
            KUBERNETES => self.check_tenant_resources(scoring_roots)?,
            _ => return Err(invalid_value(TENANTS, source, &"use file or kubernetes")),
        }
        let bounds = Duration::from_secs(1)..=Duration::from_hours(1);
        if !bounds.contains(&self.auth_tenants_refresh.0) {
            let reason = "use a duration from 1s to 1h";
            return Err(invalid_value(TENANTS_REFRESH, &self.auth_tenants_refresh.to_string(), &reason));
        }
        Ok(())
    }

    fn check_tenants_file(&self, scoring_roots: &RootsArgs) -> Result<(), SettingsError> {
        if self.auth_tenants_file.is_none() {
            return Err(SettingsError::Without {
                variable: "VMAFX_AUTH_TENANTS_SOURCE=file",
                needs: TENANTS_FILE,
            });
        }
        // Each tenant in the file has its own value of these.
        let global_settings = [
            (self.jwks_endpoint.is_some(), JWKS),
            (self.auth_subjects.is_some(), SUBJECTS),
            (scoring_roots.scoring_roots.is_some(), roots::VARIABLE),
            (scoring_roots.report_roots.is_some(), roots::REPORTS_VARIABLE),
        ];
        match global_settings.into_iter().find(|(set, _)| *set) {
            Some((_, first)) => Err(SettingsError::Both { first, second: TENANTS }),
            None => Ok(()),
        }
    }

    /// The issuer of the settings goes together with declared tenants: it is the cluster's, for ServiceAccounts.
    fn check_tenant_resources(&self, scoring_roots: &RootsArgs) -> Result<(), SettingsError> {
        let without = |variable, needs| Err(SettingsError::Without { variable, needs });
        if self.auth_tenants_file.is_some() {
            return without(TENANTS_FILE, "VMAFX_AUTH_TENANTS_SOURCE=file");
        }
        if self.jwks_endpoint.is_some() && self.auth_subjects.is_none() {
            return without(JWKS, SUBJECTS);
        }
        // They are the roots of namespaces that no tenant lists.
        let global_roots = [
            (scoring_roots.scoring_roots.is_some(), roots::VARIABLE),
            (scoring_roots.report_roots.is_some(), roots::REPORTS_VARIABLE),
        ];
        if self.auth_default_tenant.is_none()
            && let Some((_, variable)) = global_roots.into_iter().find(|(set, _)| *set)
        {
            return without(variable, DEFAULT_TENANT);
        }
        Ok(())
    }
}

fn invalid_value(variable: &str, value: &str, reason: &dyn std::fmt::Display) -> SettingsError {
    SettingsError::Value {
        variable: variable.to_owned(),
        value: value.to_owned(),
        reason: reason.to_string(),
    }
}

/// The identity of every caller while authentication is disabled.
fn anonymous(metrics: &AuthMetrics) -> Result<Identity, SettingsError> {
    metrics.disabled();
    tracing::warn!("AUTHENTICATION IS DISABLED ({DISABLED}): every caller is admin and node of tenant dev");
    let tenant = TenantId::new("dev").map_err(|error| invalid_value(DISABLED, "true", &error))?;
    let roles = Roles::of(&[Role::Admin, Role::Node]);
    let (subject, source) = ("anonymous".to_owned(), SubjectSource::Platform);
    Ok(Identity { tenant, subject, source, roles, calls_for_namespaces: false })
}
