//! What the webhook asks of the API server, for the table of permissions.

/// Where a permission is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// In the operator's own namespace.
    OwnNamespace,
    /// In the whole cluster.
    Cluster,
}

/// The setting whose value is the only name that is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Only {
    /// Any name: the API server does not know the name of what is being created.
    Any,
    /// `VMAFX_OPERATOR_WEBHOOK_SECRET`
    Secret,
    /// `VMAFX_OPERATOR_WEBHOOK_CONFIGURATION`
    Configuration,
}

/// One permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permission {
    /// The API group.
    pub group: &'static str,
    /// The resource.
    pub resource: &'static str,
    /// The verbs.
    pub verbs: &'static [&'static str],
    /// Where.
    pub scope: Scope,
    /// For which names.
    pub only: Only,
}

/// All of them. None is needed with mounted certificate files. Both objects are read once a minute, not watched.
pub const PERMISSIONS: &[Permission] = &[
    Permission {
        group: "",
        resource: "secrets",
        verbs: &["create"],
        scope: Scope::OwnNamespace,
        only: Only::Any,
    },
    Permission {
        group: "",
        resource: "secrets",
        verbs: &["get", "update"],
        scope: Scope::OwnNamespace,
        only: Only::Secret,
    },
    Permission {
        group: "admissionregistration.k8s.io",
        resource: "validatingwebhookconfigurations",
        verbs: &["get", "patch"],
        scope: Scope::Cluster,
        only: Only::Configuration,
    },
];
