//! `VmafxTenant`: a team of a platform, with its callers, its roles and its scoring roots.

mod status;

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vmafx_job::TenantLimit;

pub use self::status::VmafxTenantStatus;

/// Who belongs to the tenant and what its callers are permitted to do.
// Unknown fields are refused, because a controller that ignored a newer one could permit what that one forbids.
#[derive(Clone, Debug, PartialEq, Eq, CustomResource, KubeSchema, Serialize, Deserialize)]
#[kube(
    group = "vmafx.dev",
    version = "v1",
    kind = "VmafxTenant",
    plural = "vmafxtenants",
    namespaced,
    shortname = "vmtenant",
    category = "vmafx",
    status = "VmafxTenantStatus",
    derive = "PartialEq",
    doc = "A team that shares jobs, samples and scoring roots, and is kept apart from other tenants. The \
           vmafx-controller reads the tenants of its own namespace only.",
    selectable = ".spec.tenantId",
    printcolumn(name = "Issuer", type_ = "string", json_path = ".spec.oidc.issuer"),
    printcolumn(name = "Enabled", type_ = "boolean", json_path = ".spec.enabled"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Tenant", type_ = "string", json_path = ".spec.tenantId", priority = "1"),
    printcolumn(name = "Namespaces", type_ = "string", json_path = ".spec.namespaces", priority = "1"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status",
        priority = "1"
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].reason",
        priority = "1"
    )
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[x_kube(
    validation = Rule::new("has(self.oidc) || (has(self.namespaces) && size(self.namespaces) > 0)")
        .message("set oidc, namespaces or both: otherwise no caller belongs to the tenant")
        .field_path(".oidc"),
)]
pub struct VmafxTenantSpec {
    /// Name of the tenant in tokens, roots and metrics. No two tenants have the same.
    #[schemars(regex(pattern = r"^[a-z0-9][a-z0-9\-]{0,62}[a-z0-9]$"))]
    pub tenant_id: String,

    /// Set to false, the tenant is suspended: all calls of its callers are denied, and its jobs stay as they are.
    #[serde(default = "defaults::enabled")]
    pub enabled: bool,

    /// The issuer of the tokens of people and pipelines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oidc: Option<TenantOidc>,

    /// Kubernetes namespaces that belong to the tenant: their resources, and the callers with a ServiceAccount in one of
    /// them. They share everything that the tenant has. A namespace belongs to one tenant only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    #[schemars(inner(length(max = 63), regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub namespaces: Vec<String>,

    /// Which roles the tokens of the issuer can have.
    #[serde(default)]
    pub rbac: TenantRbac,

    /// Where clips are permitted to be.
    #[serde(default)]
    pub scoring: TenantScoring,

    /// Where reports are permitted to be, if not among the clips.
    #[serde(default)]
    pub reports: TenantReports,

    /// How much the tenant can have at once. The limits of the controller apply where a field is left out.
    #[serde(default)]
    pub quota: TenantQuota,

    /// How many jobs shared nodes run for the tenant in proportion to other tenants with waiting jobs. Left out, it is that
    /// of VMAFX_TENANT_WEIGHTS, or else 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub weight: Option<i32>,
}

/// How much the tenant can have at once. 0 permits nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, KubeSchema, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TenantQuota {
    /// Jobs that wait for a node, those in back-off included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub pending_jobs: Option<i64>,

    /// Jobs that nodes run. Jobs beyond it wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub running_jobs: Option<i64>,

    /// Bytes of the requests and results of all stored jobs, and 1024 for each job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub stored_bytes: Option<i64>,

    /// Connected nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub nodes: Option<i64>,

    /// Open streams of jobs and samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub streams: Option<i64>,

    /// Open streams of one caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub streams_per_identity: Option<i64>,
}

impl TenantQuota {
    /// The limits that are set.
    pub fn limits(&self) -> impl Iterator<Item = (TenantLimit, i64)> {
        let limits = [
            (TenantLimit::PendingJobs, self.pending_jobs),
            (TenantLimit::RunningJobs, self.running_jobs),
            (TenantLimit::StoredBytes, self.stored_bytes),
            (TenantLimit::Nodes, self.nodes),
            (TenantLimit::Streams, self.streams),
            (TenantLimit::StreamsPerIdentity, self.streams_per_identity),
        ];
        limits.into_iter().filter_map(|(limit, value)| Some((limit, value?)))
    }
}

/// An issuer of tokens, and the claims by which they name the tenant and its roles.
#[derive(Clone, Debug, PartialEq, Eq, KubeSchema, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TenantOidc {
    /// The iss of the tokens.
    #[schemars(length(min = 1, max = 2048), extend("format" = "uri"))]
    pub issuer: String,

    /// URL of the JSON Web Key Set with which the tokens are verified.
    #[schemars(length(min = 1, max = 2048), extend("format" = "uri"))]
    pub jwks_endpoint: String,

    /// The aud that tokens must have. Empty or left out, any audience is accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub audience: Option<String>,

    /// Claim that names the tenant; its value must be tenantId.
    #[serde(default = "defaults::tenant_claim")]
    #[schemars(length(max = 256))]
    pub tenant_claim: String,

    /// Claim that names the roles.
    #[serde(default = "defaults::roles_claim")]
    #[schemars(length(max = 256))]
    pub roles_claim: String,
}

/// Which roles the tokens of the issuer can have.
#[derive(Clone, Debug, PartialEq, Eq, KubeSchema, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TenantRbac {
    /// Role of tokens without a claim for roles. It must be among allowedRoles; vmafx:reader is not granted where it is
    /// not.
    #[serde(default = "defaults::default_role")]
    #[schemars(with = "TenantDefaultRole")]
    pub default_role: String,

    /// Roles that tokens can have; others in a token have no effect.
    #[serde(default = "defaults::allowed_roles")]
    #[schemars(with = "Vec<TenantRole>")]
    pub allowed_roles: Vec<String>,
}

impl Default for TenantRbac {
    fn default() -> Self {
        Self { default_role: defaults::default_role(), allowed_roles: defaults::allowed_roles() }
    }
}

/// Where clips are permitted to be.
#[derive(Clone, Debug, Default, PartialEq, Eq, KubeSchema, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TenantScoring {
    /// Directories, https://host/path and s3://bucket/prefix. {tenant} stands for tenantId, and {namespace} for each of
    /// namespaces. Without roots every job of the tenant is refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), inner(length(min = 1, max = 4096)))]
    pub roots: Vec<String>,
}

/// Where reports are permitted to be, if not among the clips.
#[derive(Clone, Debug, Default, PartialEq, Eq, KubeSchema, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TenantReports {
    /// In the syntax of scoring.roots. With roots, reports are written below them only, so that a job cannot place or replace
    /// files among the clips. Without, scoring.roots are for reports too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), inner(length(min = 1, max = 4096)))]
    pub roots: Vec<String>,
}

/// A role at the controller.
// Only its schema is used. The fields are texts, because the controller, which declares the roles, names the field of a wrong
// one in a tenants file, and an error of an enum does not.
#[derive(JsonSchema)]
#[schemars(inline)]
#[allow(dead_code, reason = "only the schema is used")]
enum TenantRole {
    #[serde(rename = "vmafx:reader")]
    Reader,
    #[serde(rename = "vmafx:writer")]
    Writer,
    #[serde(rename = "vmafx:admin")]
    Admin,
    #[serde(rename = "vmafx:node")]
    Node,
}

/// A role that tokens without roles can have.
#[derive(JsonSchema)]
#[schemars(inline, transform = crate::crd::described_by_its_field)]
#[allow(dead_code, reason = "only the schema is used")]
enum TenantDefaultRole {
    #[serde(rename = "vmafx:reader")]
    Reader,
    #[serde(rename = "vmafx:writer")]
    Writer,
    #[serde(rename = "vmafx:admin")]
    Admin,
}

/// What the API server fills in.
pub mod defaults {
    pub const DEFAULT_ROLE: &str = "vmafx:reader";

    pub(super) fn enabled() -> bool {
        true
    }

    pub fn tenant_claim() -> String {
        "tid".to_owned()
    }

    pub fn roles_claim() -> String {
        "vmafx_roles".to_owned()
    }

    pub(super) fn default_role() -> String {
        DEFAULT_ROLE.to_owned()
    }

    pub(super) fn allowed_roles() -> Vec<String> {
        [DEFAULT_ROLE, "vmafx:writer"].map(str::to_owned).to_vec()
    }
}
