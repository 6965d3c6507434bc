//! The settings of authentication and their validation at start.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use vmafx_kit::config::{GoDuration, SettingsError};
use vmafx_queue::TenantId;

use super::authenticator::{Authenticator, Inner, Issuers};
use super::clocks::Clocks;
use super::config_file::{self, ConfigFileError};
use super::issuer::IssuerName;
use super::jwks::{Endpoint, Fetcher, KeyCache};
use super::metrics::AuthMetrics;
use super::namespaces::NamespaceTenants;
use super::provider::{ClaimNames, Provider, SubjectMap};
use super::refresher::AuthRefresher;
use super::reloading_file::ReloadingFile;
use super::static_tokens::StaticTokens;
use super::subjects::Subjects;
use super::tenants::TenantRegistry;
use super::token_cache::TokenCache;
use crate::identity::{Identity, Role, Roles};
use crate::roots::{self, RootsArgs};
use crate::service;

const DISABLED: &str = "VMAFX_AUTH_DISABLED";
const JWKS: &str = "VMAFX_JWKS_ENDPOINT";
const JWKS_CA: &str = "VMAFX_JWKS_CA_FILE";
pub(super) const JWKS_TOKEN: &str = "VMAFX_JWKS_TOKEN_FILE";
const ISSUER: &str = "VMAFX_AUTH_ISSUER";
const AUDIENCE: &str = "VMAFX_AUTH_AUDIENCE";
const TOKEN_FILE: &str = "VMAFX_AUTH_TOKEN_FILE";
const SUBJECTS: &str = "VMAFX_AUTH_SUBJECTS";
const DEFAULT_TENANT: &str = "VMAFX_AUTH_DEFAULT_TENANT";
const OPERATOR_SUBJECT: &str = "VMAFX_AUTH_OPERATOR_SUBJECT";
const TENANTS: &str = "VMAFX_AUTH_TENANTS_SOURCE";
const TENANTS_FILE: &str = "VMAFX_AUTH_TENANTS_FILE";
const TENANTS_REFRESH: &str = "VMAFX_AUTH_TENANTS_REFRESH";

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

    /// Roles of subjects such as service accounts: subject=role+role,… or the absolute path of a YAML file.
    #[arg(long, env = "VMAFX_AUTH_SUBJECTS", value_name = "LIST|FILE")]
    pub auth_subjects: Option<String>,

    /// Tenant of the subjects in `VMAFX_AUTH_SUBJECTS` that have none of their own; `{namespace}` makes the namespace of
    /// each ServiceAccount its tenant.
    #[arg(long, env = "VMAFX_AUTH_DEFAULT_TENANT", value_name = "TENANT")]
    pub auth_default_tenant: Option<String>,

    /// Subject of the operator, the only one that may call for any namespace.
    #[arg(long, env = "VMAFX_AUTH_OPERATOR_SUBJECT", value_name = "SUBJECT")]
    pub auth_operator_subject: Option<String>,

    /// Source of tenants with their own issuers; the only source is file.
    #[arg(long, env = "VMAFX_AUTH_TENANTS_SOURCE", value_name = "SOURCE")]
    pub auth_tenants_source: Option<String>,

    /// YAML file with tenants and their issuers.
    #[arg(long, env = "VMAFX_AUTH_TENANTS_FILE", value_name = "FILE")]
    pub auth_tenants_file: Option<PathBuf>,

    /// Interval at which the tenants file is read again.
    #[arg(long, env = "VMAFX_AUTH_TENANTS_REFRESH", value_name = "DURATION", default_value = "30s")]
    pub auth_tenants_refresh: GoDuration,
}

#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    #[error("the authentication settings are invalid")]
    Settings(#[from] SettingsError),
    #[error("an authentication file is invalid")]
    File(#[from] ConfigFileError),
    #[error(
        "authentication is not configured: set {JWKS} and {ISSUER} for tokens of an issuer, {TOKEN_FILE} for static \
         tokens, {TENANTS}=file for several tenants, or, for development only, {DISABLED}=true"
    )]
    NotConfigured,
}

#[derive(Clone)]
pub struct Access {
    pub authenticator: Authenticator,
    /// The tenants file has roots of its own, so roots depend on the authentication settings.
    pub roots: Arc<dyn service::Roots>,
    pub refresher: AuthRefresher,
    /// Whether each namespace is the tenant of its name.
    pub tenant_per_namespace: bool,
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
        let issuers = self.issuers(tokens.is_some(), &clocks, &metrics).await?;
        let roots: Arc<dyn service::Roots> = match &issuers {
            Issuers::Tenants(registry) => Arc::clone(registry) as _,
            Issuers::One(provider) => Arc::new(scoring_roots.open(provider.namespaces.as_ref())?),
            Issuers::Disabled(_) | Issuers::None => Arc::new(scoring_roots.open(None)?),
        };
        let tenant_per_namespace = matches!(
            &issuers,
            Issuers::One(provider) if provider.namespaces == Some(NamespaceTenants::Each)
        );
        let inner = Inner { issuers, tokens, cache: TokenCache::default(), clocks, metrics };
        let authenticator = Authenticator(Arc::new(inner));
        Ok(Access {
            refresher: AuthRefresher(authenticator.clone()),
            authenticator,
            roots,
            tenant_per_namespace,
        })
    }

    async fn issuers(
        &self,
        tokens: bool,
        clocks: &Clocks,
        metrics: &AuthMetrics,
    ) -> Result<Issuers, AuthError> {
        if self.auth_disabled {
            metrics.disabled();
            tracing::warn!(
                "AUTHENTICATION IS DISABLED ({DISABLED}): every caller is admin and node of tenant dev"
            );
            return Ok(Issuers::Disabled(anonymous()?));
        }
        if let Some(file) = &self.auth_tenants_file {
            let registry = TenantRegistry::open(
                file.clone(),
                self.auth_tenants_refresh.0,
                self.jwks_ca_file.clone(),
                clocks.clone(),
                metrics.clone(),
            );
            return Ok(Issuers::Tenants(Arc::new(registry.await?)));
        }
        let Some(endpoint) = &self.jwks_endpoint else {
            return if tokens { Ok(Issuers::None) } else { Err(AuthError::NotConfigured) };
        };
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
        let namespaces = self.namespace_tenants()?;
        Ok(Issuers::One(Box::new(Provider {
            issuer,
            audience: self.auth_audience.clone(),
            names: ClaimNames {
                tenant: self.auth_tenant_claim.clone(),
                roles: self.auth_roles_claim.clone(),
            },
            keys: Arc::new(KeyCache::new(fetcher, clocks.clone(), metrics.clone())),
            subjects: self.subjects(namespaces.clone()).await?,
            operator: self.auth_operator_subject.clone(),
            namespaces,
        })))
    }

    fn namespace_tenants(&self) -> Result<Option<NamespaceTenants>, SettingsError> {
        let Some(value) = &self.auth_default_tenant else { return Ok(None) };
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
        if self.auth_operator_subject.is_some() && self.auth_default_tenant.is_none() {
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
            "file" => {}
            "kubernetes" => {
                let reason = "tenants are not read from Kubernetes resources: use file and mount the file";
                return Err(invalid_value(TENANTS, source, &reason));
            }
            _ => return Err(invalid_value(TENANTS, source, &"use file")),
        }
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
        ];
        if let Some((_, first)) = global_settings.into_iter().find(|(set, _)| *set) {
            return Err(SettingsError::Both { first, second: TENANTS });
        }
        let bounds = Duration::from_secs(1)..=Duration::from_hours(1);
        if !bounds.contains(&self.auth_tenants_refresh.0) {
            let reason = "use a duration from 1s to 1h";
            return Err(invalid_value(TENANTS_REFRESH, &self.auth_tenants_refresh.to_string(), &reason));
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
fn anonymous() -> Result<Identity, SettingsError> {
    let tenant = TenantId::new("dev").map_err(|error| invalid_value(DISABLED, "true", &error))?;
    let roles = Roles::of(&[Role::Admin, Role::Node]);
    Ok(Identity { tenant, subject: "anonymous".to_owned(), roles, calls_for_namespaces: false })
}
