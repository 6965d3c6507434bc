//! The command lines of etcd, the API server and the controller manager, for both kinds of clusters.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::assets::{Assets, Binary};
use super::pki::{Authority, Identity, PkiError, ServiceAccountKey};
use super::process::ChildCommand;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AuditLevel {
    /// There is no log.
    #[default]
    Off,
    Metadata,
    /// Metadata and request bodies.
    Request,
}

/// The files that all servers of one cluster share: directory, programs and certificates.
#[derive(Debug)]
pub(crate) struct ClusterFiles {
    pub(crate) directory: PathBuf,
    pub(crate) assets: Assets,
    pub(crate) authority: Authority,
    pub(crate) server: Identity,
    /// A client certificate with all permissions.
    pub(crate) admin: Identity,
    service_accounts: ServiceAccountKey,
}

impl ClusterFiles {
    /// Creates the certificates; `hosts` are the names and addresses of the API server.
    pub(crate) fn create(directory: &Path, assets: Assets, hosts: &[&str]) -> Result<Self, PkiError> {
        let log = directory.join("log");
        fs::create_dir_all(&log).map_err(|source| PkiError::Write { path: log, source })?;
        let authority = Authority::create(directory)?;
        Ok(Self {
            directory: directory.to_owned(),
            assets,
            server: authority.server("kube-apiserver", None, hosts)?,
            admin: authority.client("admin", "system:masters")?,
            service_accounts: authority.service_accounts()?,
            authority,
        })
    }

    /// A program with its log in this cluster's directory.
    pub(crate) fn command(&self, binary: Binary) -> ChildCommand {
        let log = self.directory.join("log").join(format!("{}.log", binary.name()));
        ChildCommand::new(binary.name(), self.assets.path(binary), log)
    }

    /// etcd with one member. It requires TLS with our client certificate even on loopback: otherwise every user of the
    /// machine could write to it, and an API server that lost a race for a port could use another cluster's etcd.
    pub(crate) fn etcd(&self, port: u16) -> ChildCommand {
        let url = format!("https://127.0.0.1:{port}");
        self.command(Binary::Etcd)
            .path("--data-dir", self.directory.join("etcd"))
            .arg(format!("--listen-client-urls={url}"))
            .arg(format!("--advertise-client-urls={url}"))
            // There are no peers: any free port will do, and the advertised one is never used.
            .arg("--listen-peer-urls=http://127.0.0.1:0")
            .path("--cert-file", &self.server.certificate)
            .path("--key-file", &self.server.key)
            .path("--trusted-ca-file", self.authority.certificate())
            .arg("--client-cert-auth")
            // The data is discarded with the cluster: durability would only cost time.
            .args(["--unsafe-no-fsync", "--quota-backend-bytes=536870912", "--log-level=warn"])
    }

    /// The API server, with the defaults of Kubernetes wherever they work on one machine.
    pub(crate) fn api_server(&self, port: u16, etcd_port: u16, address: &str) -> ChildCommand {
        self.command(Binary::KubeApiserver)
            .arg(format!("--secure-port={port}"))
            .arg(format!("--bind-address={address}"))
            .arg(format!("--etcd-servers=https://127.0.0.1:{etcd_port}"))
            .path("--etcd-cafile", self.authority.certificate())
            .path("--etcd-certfile", &self.server.certificate)
            .path("--etcd-keyfile", &self.server.key)
            .path("--tls-cert-file", &self.server.certificate)
            .path("--tls-private-key-file", &self.server.key)
            .path("--client-ca-file", self.authority.certificate())
            .path("--service-account-key-file", &self.service_accounts.public)
            .path("--service-account-signing-key-file", &self.service_accounts.private)
            .arg("--service-account-issuer=https://kubernetes.default.svc")
            .arg("--service-cluster-ip-range=10.96.0.0/16")
            .arg("--allow-privileged=true")
    }

    pub(crate) fn controller_manager(&self, port: u16, kubeconfig: &Path) -> ChildCommand {
        self.command(Binary::KubeControllerManager)
            .path("--kubeconfig", kubeconfig)
            .path("--service-account-private-key-file", &self.service_accounts.private)
            .path("--root-ca-file", self.authority.certificate())
            .arg("--use-service-account-credentials=true")
            .arg("--bind-address=127.0.0.1")
            .arg(format!("--secure-port={port}"))
            // There is only one replica, and an election would take two seconds at every start.
            .arg("--leader-elect=false")
            // The default protects an API server with many clients; here it would only slow tests down.
            .args(["--kube-api-qps=200", "--kube-api-burst=400"])
    }

    pub(crate) fn audit_log(&self) -> PathBuf {
        self.directory.join("audit.log")
    }

    /// Enables the audit log. An event is written before its request is answered.
    pub(crate) fn with_audit(&self, command: ChildCommand, audit: AuditLevel) -> io::Result<ChildCommand> {
        let level = match audit {
            AuditLevel::Off => return Ok(command),
            AuditLevel::Metadata => "Metadata",
            AuditLevel::Request => "Request",
        };
        let policy = json!({
            "apiVersion": "audit.k8s.io/v1",
            "kind": "Policy",
            "omitStages": ["RequestReceived"],
            "rules": [{"level": level}],
        });
        let path = self.directory.join("audit-policy.json");
        fs::write(&path, policy.to_string())?;
        Ok(command.path("--audit-policy-file", path).path("--audit-log-path", self.audit_log()))
    }
}
