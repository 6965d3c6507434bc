//! For which VmafxNode a node may report: its reports become the status of that resource.
//!
//! | token                                                    | the namespace of the resource must be   | `resource.uid` |
//! |----------------------------------------------------------|-----------------------------------------|----------------|
//! | of a ServiceAccount                                      | that of the account                     | required       |
//! | of an issuer that a declared tenant has for itself       | one that the tenant lists               | optional       |
//! | another, if each namespace is a tenant, none is declared | that of its tenant                      | optional       |
//! | another, otherwise                                       | any                                     | optional       |
//!
//! Tokens of the other kinds are for machines outside the cluster, for a VmafxNode with `managementPolicy: External`. Those of the
//! last two rows are issued by an administrator of the platform.

use vmafx_queue::job::Origin;
use vmafx_queue::node::{NodeResource, ServiceAccountName};

use super::text::origin;
use crate::identity::Identity;
use crate::refusal::Refusal;
use crate::service::NodeNamespaces;

/// `namespaces` are those of the caller's tenant.
pub(super) fn node_resource(
    who: &Identity,
    namespaces: &NodeNamespaces,
    resource: Origin,
) -> Result<NodeResource, Refusal> {
    origin("resource", &resource)?;
    let account = who.service_account();
    match (account, namespaces) {
        (Some((namespace, _)), _) => of_namespace(namespace, &resource)?,
        (None, NodeNamespaces::OfTenant) => of_namespace(who.tenant.as_str(), &resource)?,
        (None, NodeNamespaces::Listed(listed)) if !listed.contains(&resource.namespace) => {
            return Err(Refusal::Denied(format!(
                "resource.namespace: the tenant {:?} does not list {:?}: set VMAFX_NODE_RESOURCE_NAMESPACE to a namespace \
                 of spec.namespaces of its VmafxTenant, or add this one there",
                who.tenant.as_str(),
                resource.namespace
            )));
        }
        (None, NodeNamespaces::Listed(_) | NodeNamespaces::Any) => {}
    }
    if account.is_some() && resource.uid.is_empty() {
        let problem = "is required of a node with the token of a ServiceAccount: set VMAFX_NODE_RESOURCE_UID to the \
                       metadata.uid of the VmafxNode";
        return Err(Refusal::invalid("resource.uid", problem));
    }
    let account = account.map(|(namespace, name)| ServiceAccountName {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    });
    Ok(NodeResource { origin: resource, account })
}

fn of_namespace(namespace: &str, resource: &Origin) -> Result<(), Refusal> {
    if namespace == resource.namespace {
        return Ok(());
    }
    Err(Refusal::Denied(format!(
        "resource.namespace: this token is for VmafxNodes of the namespace {namespace}, not of {:?}: set \
         VMAFX_NODE_RESOURCE_NAMESPACE={namespace}, or use a token of the other namespace",
        resource.namespace
    )))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use vmafx_queue::TenantId;

    use super::*;
    use crate::identity::{Role, Roles, SubjectSource};

    #[derive(Clone, Copy)]
    enum Tenants {
        One,
        PerNamespace,
        /// The issuer is that of a declared tenant with these namespaces.
        Declared(&'static [&'static str]),
    }

    fn checked(subject: &str, tenants: Tenants, namespace: &str, uid: &str) -> Result<NodeResource, String> {
        let (source, namespaces) = match tenants {
            Tenants::One => (SubjectSource::Platform, NodeNamespaces::Any),
            Tenants::PerNamespace => (SubjectSource::Platform, NodeNamespaces::OfTenant),
            Tenants::Declared(listed) => {
                let listed = listed.iter().map(|&name| name.to_owned()).collect();
                (SubjectSource::Tenant, NodeNamespaces::Listed(listed))
            }
        };
        let who = Identity {
            tenant: TenantId::new("studio").unwrap(),
            subject: subject.to_owned(),
            source,
            roles: Roles::of(&[Role::Node]),
            calls_for_namespaces: false,
        };
        let resource = Origin {
            cluster: "here".into(),
            namespace: namespace.into(),
            name: "pool".into(),
            uid: uid.into(),
        };
        node_resource(&who, &namespaces, resource).map_err(|refusal| refusal.to_string())
    }

    const POD: &str = "system:serviceaccount:studio:vmafx-worker";

    #[rstest]
    #[case::pod(POD, Tenants::One, "studio", "u")]
    #[case::pod_of_a_tenant(POD, Tenants::PerNamespace, "studio", "u")]
    #[case::machine("laptop", Tenants::One, "video", "")]
    #[case::machine_of_a_tenant("laptop", Tenants::PerNamespace, "studio", "")]
    #[case::own_issuer("laptop", Tenants::Declared(&["web", "tv"]), "tv", "")]
    #[case::own_issuer_that_names_an_account(POD, Tenants::Declared(&["web", "tv"]), "tv", "")]
    fn a_node_reports_for_a_resource_of_its_namespace(
        #[case] subject: &str,
        #[case] tenants: Tenants,
        #[case] namespace: &str,
        #[case] uid: &str,
    ) {
        let resource = checked(subject, tenants, namespace, uid).unwrap();
        assert!(resource.is_vouched_for());
        let account = resource.account.map(|account| (account.namespace, account.name));
        let is_account = subject == POD && !matches!(tenants, Tenants::Declared(_));
        let expected = is_account.then(|| ("studio".to_owned(), "vmafx-worker".to_owned()));
        assert_eq!(account, expected);
    }

    #[rstest]
    #[case::pod(
        POD,
        Tenants::One,
        "video",
        "u",
        "resource.namespace: this token is for VmafxNodes of the namespace studio"
    )]
    #[case::machine_of_a_tenant(
        "laptop",
        Tenants::PerNamespace,
        "video",
        "",
        "resource.namespace: this token is for"
    )]
    #[case::own_issuer("laptop", Tenants::Declared(&["web", "tv"]), "video", "", "resource.namespace: the tenant \"studio\" does not list \"video\"")]
    #[case::own_issuer_without_namespaces("laptop", Tenants::Declared(&[]), "studio", "", "does not list \"studio\"")]
    #[case::own_issuer_that_names_an_account(POD, Tenants::Declared(&["web"]), "studio", "u", "does not list \"studio\"")]
    #[case::no_uid(POD, Tenants::One, "studio", "", "resource.uid: is required")]
    #[case::nowhere(POD, Tenants::One, "", "u", "not of \"\"")]
    fn another_resource_is_refused_by_field(
        #[case] subject: &str,
        #[case] tenants: Tenants,
        #[case] namespace: &str,
        #[case] uid: &str,
        #[case] words: &str,
    ) {
        let refusal = checked(subject, tenants, namespace, uid).unwrap_err();
        assert!(refusal.contains(words), "{refusal}");
    }
}
