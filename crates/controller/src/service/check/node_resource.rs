//! For which VmafxNode a node may report: its reports become the status of that resource.
//!
//! | token                                                   | the namespace of the resource must be | `resource.uid` |
//! |---------------------------------------------------------|---------------------------------------|----------------|
//! | of a ServiceAccount                                     | that of the account                   | required       |
//! | another, if each namespace is a tenant, none is declared | that of its tenant                   | optional       |
//! | another, otherwise                                      | any                                   | optional       |
//!
//! Tokens of other kinds are those that an administrator issues to machines outside the cluster, for a VmafxNode with
//! `managementPolicy: External`.

use vmafx_queue::job::Origin;
use vmafx_queue::node::{NodeResource, ServiceAccountName};

use super::text::origin;
use crate::identity::Identity;
use crate::refusal::Refusal;

pub(super) fn node_resource(
    who: &Identity,
    tenant_per_namespace: bool,
    resource: Origin,
) -> Result<NodeResource, Refusal> {
    origin("resource", &resource)?;
    let account = who.service_account();
    let namespace = match account {
        Some((namespace, _)) => Some(namespace),
        None => tenant_per_namespace.then(|| who.tenant.as_str()),
    };
    if let Some(namespace) = namespace.filter(|namespace| *namespace != resource.namespace) {
        return Err(Refusal::Denied(format!(
            "resource.namespace: this token is for VmafxNodes of the namespace {namespace}, not of {:?}: set \
             VMAFX_NODE_RESOURCE_NAMESPACE={namespace}, or use a token of the other namespace",
            resource.namespace
        )));
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

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use vmafx_queue::TenantId;

    use super::*;
    use crate::identity::{Role, Roles};

    fn checked(
        subject: &str,
        per_namespace: bool,
        namespace: &str,
        uid: &str,
    ) -> Result<NodeResource, String> {
        let who = Identity {
            tenant: TenantId::new("studio").unwrap(),
            subject: subject.to_owned(),
            roles: Roles::of(&[Role::Node]),
            calls_for_namespaces: false,
        };
        let resource = Origin {
            cluster: "here".into(),
            namespace: namespace.into(),
            name: "pool".into(),
            uid: uid.into(),
        };
        node_resource(&who, per_namespace, resource).map_err(|refusal| refusal.to_string())
    }

    const POD: &str = "system:serviceaccount:studio:vmafx-worker";

    #[rstest]
    #[case::pod(POD, false, "studio", "u")]
    #[case::pod_of_a_tenant(POD, true, "studio", "u")]
    #[case::machine("laptop", false, "video", "")]
    #[case::machine_of_a_tenant("laptop", true, "studio", "")]
    fn a_node_reports_for_a_resource_of_its_namespace(
        #[case] subject: &str,
        #[case] per_namespace: bool,
        #[case] namespace: &str,
        #[case] uid: &str,
    ) {
        let resource = checked(subject, per_namespace, namespace, uid).unwrap();
        assert!(resource.is_vouched_for());
        let account = resource.account.map(|account| (account.namespace, account.name));
        let expected = (subject == POD).then(|| ("studio".to_owned(), "vmafx-worker".to_owned()));
        assert_eq!(account, expected);
    }

    #[rstest]
    #[case::pod(
        POD,
        false,
        "video",
        "u",
        "resource.namespace: this token is for VmafxNodes of the namespace studio"
    )]
    #[case::machine_of_a_tenant("laptop", true, "video", "", "resource.namespace: this token is for")]
    #[case::no_uid(POD, false, "studio", "", "resource.uid: is required")]
    #[case::nowhere(POD, false, "", "u", "not of \"\"")]
    fn another_resource_is_refused_by_field(
        #[case] subject: &str,
        #[case] per_namespace: bool,
        #[case] namespace: &str,
        #[case] uid: &str,
        #[case] words: &str,
    ) {
        let refusal = checked(subject, per_namespace, namespace, uid).unwrap_err();
        assert!(refusal.contains(words), "{refusal}");
    }
}
