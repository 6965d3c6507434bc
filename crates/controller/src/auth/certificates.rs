//! Client certificates: which calls need one, and for whom it is. A certificate never replaces a token.
//!
//! | certificate of the connection | `Optional`                          | `Required`                           |
//! |-------------------------------|-------------------------------------|--------------------------------------|
//! | none                          | every call                          | every call that needs no role node   |
//! | one that names no namespace   | every call                          | every call that needs no role node   |
//! | one that names a namespace    | calls with a token of the namespace | calls with a token of the namespace  |
//!
//! The token of a ServiceAccount is one of its namespace; any other is one of all namespaces that belong to its tenant.
//! Where no namespace has a tenant, such a token is bound by its registration only ([`check_registration`]).

use vmafx_kit::tls::ClientCertificate;
use vmafx_queue::TenantId;

use super::outcome::AuthOutcome;
use super::permissions::{NODE, Permission};
use crate::identity::Identity;
use crate::refusal::Refusal;

/// Whether nodes need a client certificate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CertificatePolicy {
    #[default]
    Optional,
    Required,
}

impl CertificatePolicy {
    /// `tenant_of` returns the tenant of a namespace, or why it has none; `None` if no namespace has one.
    pub(super) fn check(
        self,
        permission: Option<Permission>,
        identity: &Identity,
        certificate: Option<&ClientCertificate>,
        tenant_of: impl FnOnce(&str) -> Option<Result<TenantId, AuthOutcome>>,
    ) -> Result<(), Refusal> {
        let needed = self == Self::Required && permission == Some(NODE);
        let Some(certificate) = certificate else {
            return if needed { Err(missing()) } else { Ok(()) };
        };
        let Some(namespace) = certificate.namespace.as_deref() else {
            return if needed { Err(nameless()) } else { Ok(()) };
        };
        if let Some((own, _)) = identity.service_account() {
            return if own == namespace { Ok(()) } else { Err(of_another(namespace)) };
        }
        match tenant_of(namespace) {
            None => Ok(()),
            Some(Ok(tenant)) if tenant == identity.tenant => Ok(()),
            Some(_) => Err(of_another(namespace)),
        }
    }
}

/// A node reports for a VmafxNode of the namespace of its certificate only.
pub(crate) fn check_registration(
    certificate: Option<&ClientCertificate>,
    resource_namespace: Option<&str>,
) -> Result<(), Refusal> {
    match (certificate.and_then(|certificate| certificate.namespace.as_deref()), resource_namespace) {
        (Some(namespace), Some(resource)) if namespace != resource => Err(Refusal::Denied(format!(
            "resource.namespace: the client certificate is for the namespace {namespace:?}, not for {resource:?}"
        ))),
        _ => Ok(()),
    }
}

fn missing() -> Refusal {
    Refusal::Denied(
        "nodes need a client certificate here: set VMAFX_CONTROLLER_CERT_FILE and VMAFX_CONTROLLER_KEY_FILE"
            .to_owned(),
    )
}

fn nameless() -> Refusal {
    Refusal::Denied(
        "the client certificate names no namespace: it needs one URI as subject alternative name, such as \
         spiffe://vmafx.dev/ns/NAMESPACE"
            .to_owned(),
    )
}

fn of_another(namespace: &str) -> Refusal {
    Refusal::Denied(format!(
        "the client certificate is for the namespace {namespace:?}, and the token is not of that namespace"
    ))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::auth::permissions::of_grpc_method;
    use crate::identity::{Role, Roles, SubjectSource};

    const POD: &str = "system:serviceaccount:studio:vmafx-worker";
    const MACHINE: &str = "laptop";

    fn checked(
        policy: CertificatePolicy,
        subject: &str,
        method: &str,
        certificate: Option<&ClientCertificate>,
    ) -> Result<(), String> {
        let who = Identity {
            tenant: TenantId::new("studio").unwrap(),
            subject: subject.to_owned(),
            roles: Roles::of(&[Role::Node]),
            calls_for_namespaces: false,
            source: SubjectSource::Platform,
        };
        let permission = of_grpc_method(&format!("/vmafx.controller.v1.VmafxController/{method}"));
        let tenant_of = |namespace: &str| match namespace {
            "nobodys" => Some(Err(AuthOutcome::NamespaceTenant)),
            namespace => Some(Ok(TenantId::new(namespace).unwrap())),
        };
        policy.check(permission, &who, certificate, tenant_of).map_err(|refusal| refusal.to_string())
    }

    fn nameless() -> ClientCertificate {
        ClientCertificate::parse(&b"no certificate".as_slice().into())
    }

    #[test]
    fn only_calls_of_nodes_need_a_certificate_and_only_if_that_is_required() {
        let nodes = ["RegisterNode", "Heartbeat", "PullWork", "ReportResult", "ReleaseJob"];
        let others = ["SubmitJob", "GetJob", "CancelJob", "StreamJobs", "StreamSamples", "ListNodes"];
        for certificate in [None, Some(nameless())] {
            for method in nodes.iter().chain(&others) {
                let check = |policy| checked(policy, POD, method, certificate.as_ref());
                assert_eq!(check(CertificatePolicy::Optional), Ok(()), "{method}");
                assert_eq!(check(CertificatePolicy::Required).is_ok(), others.contains(method), "{method}");
            }
        }
    }

    #[rstest]
    #[case::pod(POD, "studio", true)]
    #[case::pod_of_another(POD, "video", false)]
    #[case::machine(MACHINE, "studio", true)]
    #[case::machine_of_another(MACHINE, "video", false)]
    #[case::machine_of_nobody(MACHINE, "nobodys", false)]
    fn certificate_and_token_are_of_one_namespace(
        #[case] subject: &str,
        #[case] namespace: &str,
        #[case] accepted: bool,
    ) {
        let certificate = ClientCertificate::of_namespace(namespace);
        for policy in [CertificatePolicy::Optional, CertificatePolicy::Required] {
            for method in ["PullWork", "StreamSamples"] {
                let result = checked(policy, subject, method, Some(&certificate));
                assert_eq!(result.is_ok(), accepted, "{policy:?} {method}: {result:?}");
            }
        }
    }

    #[test]
    fn a_node_registers_for_the_namespace_of_its_certificate() {
        let (certificate, nameless) = (ClientCertificate::of_namespace("studio"), nameless());
        let check = |certificate, resource| check_registration(certificate, resource).is_ok();
        assert!(check(Some(&certificate), Some("studio")) && check(Some(&certificate), None));
        assert!(check(None, Some("video")) && check(Some(&nameless), Some("video")));
        assert!(!check(Some(&certificate), Some("video")));
    }
}
