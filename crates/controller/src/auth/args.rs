//! The settings, and what is refused at start.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use vmafx_kit::config::{GoDuration, SettingsError};
use vmafx_queue::TenantId;

use super::authenticator::{Authenticator, Inner, Issuers};
use super::document::{self, DocumentError};
use super::issuer::IssuerName;
use super::jwks::{Endpoint, Fetcher, Keys};
use super::metrics::AuthMetrics;
use super::provider::{ClaimNames, Provider, SubjectMap};
use super::subjects::Subjects;
use super::tenants::Registry;
use super::time::Time;
use super::tokens::Tokens;
use super::upkeep::Upkeep;
use super::verified::Memory;
use super::watched::Watched;
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
const TENANTS: &str = "VMAFX_AUTH_TENANTS_SOURCE";
const TENANTS_FILE: &str = "VMAFX_AUTH_TENANTS_FILE";
const TENANTS_REFRESH: &str = "VMAFX_AUTH_TENANTS_REFRESH";

/// Who may call; the daemon flattens this into its own settings.
#[derive(Clone, Debug, clap::Args)]
pub struct AuthArgs {
    /// Let everybody do everything, as tenant dev. Only for development.
    #[arg(long, env = "VMAFX_AUTH_DISABLED")]
    pub auth_disabled: bool,

    /// URL of the issuer's keys. In a cluster: `https://kubernetes.default.svc/openid/v1/jwks`.
    #[arg(long, env = "VMAFX_JWKS_ENDPOINT", value_name = "URL")]
    pub jwks_endpoint: Option<String>,

    /// PEM file with the authorities to trust when keys are read; the system's by default.
    #[arg(long, env = "VMAFX_JWKS_CA_FILE", value_name = "FILE")]
    pub jwks_ca_file: Option<PathBuf>,

    /// File with a token to send when keys are read, as a cluster wants one.
    #[arg(long, env = "VMAFX_JWKS_TOKEN_FILE", value_name = "FILE")]
    pub jwks_token_file: Option<PathBuf>,

    /// Whom tokens must be from: their iss. Unset: that of the token in `VMAFX_JWKS_TOKEN_FILE`.
    #[arg(long, env = "VMAFX_AUTH_ISSUER", value_name = "ISSUER")]
    pub auth_issuer: Option<String>,

    /// Whom tokens must be for: one of their aud. Unset: anybody.
    #[arg(long, env = "VMAFX_AUTH_AUDIENCE", value_name = "AUDIENCE")]
    pub auth_audience: Option<String>,

    /// The claim that names the tenant.
    #[arg(long, env = "VMAFX_AUTH_TENANT_CLAIM", value_name = "CLAIM", default_value = "tid")]
    pub auth_tenant_claim: String,

    /// The claim that names the roles.
    #[arg(long, env = "VMAFX_AUTH_ROLES_CLAIM", value_name = "CLAIM", default_value = "vmafx_roles")]
    pub auth_roles_claim: String,

    /// YAML file with tokens that are known beforehand: tokens: [{token or sha256, tenant, roles, subject}].
    #[arg(long, env = "VMAFX_AUTH_TOKEN_FILE", value_name = "FILE")]
    pub auth_token_file: Option<PathBuf>,

    /// Roles of subjects, such as service accounts: subject=role+role,…, or the path of a YAML file.
    #[arg(long, env = "VMAFX_AUTH_SUBJECTS", value_name = "LIST|FILE")]
    pub auth_subjects: Option<String>,

    /// The tenant of those subjects.
    #[arg(long, env = "VMAFX_AUTH_DEFAULT_TENANT", value_name = "TENANT")]
    pub auth_default_tenant: Option<String>,

    /// Where tenants with issuers of their own are kept: file.
    #[arg(long, env = "VMAFX_AUTH_TENANTS_SOURCE", value_name = "SOURCE")]
    pub auth_tenants_source: Option<String>,

    /// YAML file with those tenants.
    #[arg(long, env = "VMAFX_AUTH_TENANTS_FILE", value_name = "FILE")]
    pub auth_tenants_file: Option<PathBuf>,

    /// How often it is read.
    #[arg(long, env = "VMAFX_AUTH_TENANTS_REFRESH", value_name = "DURATION", default_value = "30s")]
    pub auth_tenants_refresh: GoDuration,
}

/// Why nobody can be authenticated.
#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    /// Settings that cannot be used.
    #[error("the settings of authentication cannot be used")]
    Refused(#[from] SettingsError),
    /// A file that cannot be used.
    #[error("a file of authentication cannot be used")]
    Document(#[from] DocumentError),
    /// Nothing is set.
    #[error(
        "nobody could call: set {JWKS} and {ISSUER} for tokens of an issuer, {TOKEN_FILE} for tokens of your own, \
         {TENANTS}=file for several tenants, or, on a machine of your own, {DISABLED}=true"
    )]
    Nothing,
}

/// Who may call, and where their clips may lie.
#[derive(Clone)]
pub struct Access {
    /// Tells who calls.
    pub authenticator: Authenticator,
    /// Tells where clips may lie.
    pub roots: Arc<dyn service::Roots>,
    /// Runs beside the listeners.
    pub upkeep: Upkeep,
}

impl AuthArgs {
    /// Checks the settings and reads the files.
    pub async fn open(
        &self,
        scoring_roots: &RootsArgs,
        time: Time,
        metrics: AuthMetrics,
    ) -> Result<Access, AuthError> {
        self.check(scoring_roots)?;
        let tokens = match &self.auth_token_file {
            Some(file) if !self.auth_disabled => {
                let tokens = Watched::open(file.clone(), TOKEN_FILE, Tokens::parse).await?;
                document::warn_if_open(file).await;
                Some(tokens)
            }
            _ => None,
        };
        let issuers = self.issuers(tokens.is_some(), &time, &metrics).await?;
        let roots: Arc<dyn service::Roots> = match &issuers {
            Issuers::Tenants(registry) => Arc::clone(registry) as _,
            _ => Arc::new(scoring_roots.open()?),
        };
        let inner = Inner { issuers, tokens, memory: Memory::default(), time, metrics };
        let authenticator = Authenticator(Arc::new(inner));
        Ok(Access { upkeep: Upkeep(authenticator.clone()), authenticator, roots })
    }

    async fn issuers(&self, tokens: bool, time: &Time, metrics: &AuthMetrics) -> Result<Issuers, AuthError> {
        if self.auth_disabled {
            metrics.disabled();
            tracing::warn!(
                "AUTHENTICATION IS DISABLED ({DISABLED}): whoever can connect is admin and node of tenant dev"
            );
            return Ok(Issuers::Disabled(everybody()?));
        }
        if let Some(file) = &self.auth_tenants_file {
            let registry = Registry::open(
                file.clone(),
                self.auth_tenants_refresh.0,
                self.jwks_ca_file.clone(),
                time.clone(),
                metrics.clone(),
            );
            return Ok(Issuers::Tenants(Arc::new(registry.await?)));
        }
        let Some(endpoint) = &self.jwks_endpoint else {
            return if tokens { Ok(Issuers::None) } else { Err(AuthError::Nothing) };
        };
        let issuer = match (&self.auth_issuer, &self.jwks_token_file) {
            (Some(name), _) => IssuerName::Set(Arc::new(name.clone())),
            (None, Some(file)) => IssuerName::of_token(file).await?,
            (None, None) => return Err(AuthError::Nothing),
        };
        let endpoint: Endpoint = endpoint.parse().map_err(|error| value(JWKS, endpoint, &error))?;
        if endpoint.is_open_to_the_network() {
            tracing::warn!(%endpoint, "the issuer's keys are read without encryption: use https ({JWKS})");
        }
        if self.auth_audience.is_none() {
            tracing::warn!("tokens for anybody are accepted: set {AUDIENCE}");
        }
        let fetcher = Fetcher::new(endpoint, self.jwks_ca_file.clone(), self.jwks_token_file.clone());
        Ok(Issuers::One(Box::new(Provider {
            issuer,
            audience: self.auth_audience.clone(),
            names: ClaimNames {
                tenant: self.auth_tenant_claim.clone(),
                roles: self.auth_roles_claim.clone(),
            },
            keys: Arc::new(Keys::new(fetcher, time.clone(), metrics.clone())),
            subjects: self.subjects().await?,
        })))
    }

    async fn subjects(&self) -> Result<SubjectMap, AuthError> {
        let default = match &self.auth_default_tenant {
            Some(name) => Some(TenantId::new(name).map_err(|error| value(DEFAULT_TENANT, name, &error))?),
            None => None,
        };
        match &self.auth_subjects {
            // No subject of any issuer begins so; every path of a file does.
            Some(file) if file.starts_with('/') => {
                let parse = move |text: &str| Subjects::file(text, default.as_ref());
                Ok(SubjectMap::File(Watched::open(file.into(), SUBJECTS, parse).await?))
            }
            Some(list) => {
                let subjects = Subjects::list(list, default.as_ref());
                Ok(SubjectMap::Fixed(Arc::new(subjects.map_err(|problem| value(SUBJECTS, list, &problem))?)))
            }
            None => Ok(SubjectMap::Fixed(Arc::default())),
        }
    }

    /// Settings that contradict each other, or would have no effect.
    fn check(&self, scoring_roots: &RootsArgs) -> Result<(), SettingsError> {
        let without = |variable, needs| Err(SettingsError::Without { variable, needs });
        self.check_tenants(scoring_roots)?;
        let of_the_issuer = [
            (self.auth_issuer.is_some(), ISSUER),
            (self.auth_audience.is_some(), AUDIENCE),
            (self.auth_subjects.is_some(), SUBJECTS),
            (self.jwks_token_file.is_some(), JWKS_TOKEN),
        ];
        if self.jwks_endpoint.is_none() {
            if let Some((_, variable)) = of_the_issuer.into_iter().find(|(set, _)| *set) {
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
        Ok(())
    }

    /// The same of several tenants.
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
                let reason = "tenants are not read from Kubernetes resources: use file, and mount it";
                return Err(value(TENANTS, source, &reason));
            }
            _ => return Err(value(TENANTS, source, &"use file")),
        }
        if self.auth_tenants_file.is_none() {
            return Err(SettingsError::Without {
                variable: "VMAFX_AUTH_TENANTS_SOURCE=file",
                needs: TENANTS_FILE,
            });
        }
        // Each tenant has its own of these.
        let for_everybody = [
            (self.jwks_endpoint.is_some(), JWKS),
            (self.auth_subjects.is_some(), SUBJECTS),
            (scoring_roots.scoring_roots.is_some(), roots::VARIABLE),
        ];
        if let Some((_, first)) = for_everybody.into_iter().find(|(set, _)| *set) {
            return Err(SettingsError::Both { first, second: TENANTS });
        }
        let bounds = Duration::from_secs(1)..=Duration::from_hours(1);
        if !bounds.contains(&self.auth_tenants_refresh.0) {
            let reason = "use a time from 1s to 1h";
            return Err(value(TENANTS_REFRESH, &self.auth_tenants_refresh.to_string(), &reason));
        }
        Ok(())
    }
}

fn value(variable: &str, value: &str, reason: &dyn std::fmt::Display) -> SettingsError {
    SettingsError::Value {
        variable: variable.to_owned(),
        value: value.to_owned(),
        reason: reason.to_string(),
    }
}

/// Whom everybody is taken for when nobody is asked.
fn everybody() -> Result<Identity, SettingsError> {
    let tenant = TenantId::new("dev").map_err(|error| value(DISABLED, "true", &error))?;
    let roles = Roles::of(&[Role::Admin, Role::Node]);
    Ok(Identity { tenant, subject: "anybody".to_owned(), roles })
}
