//! How etcd, the API server and the controller manager are started; the same in both shapes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::assets::{Assets, Binary};
use super::pki::{Authority, Identity, PkiError, ServiceAccountKey};
use super::process::Launch;

/// What the API server writes to its audit log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Audit {
    /// Nothing; there is no log.
    #[default]
    Off,
    /// Who did what to which object.
    Metadata,
    /// That, and what was sent.
    Request,
}

/// What every server of one cluster shares: its directory, programs and certificates.
#[derive(Debug)]
pub(crate) struct Base {
    /// Where everything is kept.
    pub(crate) directory: PathBuf,
    /// The programs.
    pub(crate) assets: Assets,
    /// Who signs.
    pub(crate) authority: Authority,
    /// The servers' certificate.
    pub(crate) server: Identity,
    /// The one who may do everything.
    pub(crate) admin: Identity,
    service_accounts: ServiceAccountKey,
}

impl Base {
    /// Makes the certificates. `hosts` is what the API server is called by.
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
    pub(crate) fn launch(&self, binary: Binary) -> Launch {
        let log = self.directory.join("log").join(format!("{}.log", binary.name()));
        Launch::new(binary.name(), self.assets.path(binary), log)
    }

    /// etcd with one member. It speaks TLS and asks for our client certificate even on loopback: otherwise every
    /// user of the machine could write to it, and an API server that lost a race for a port could use another
    /// cluster's store.
    pub(crate) fn etcd(&self, port: u16) -> Launch {
        let url = format!("https://127.0.0.1:{port}");
        self.launch(Binary::Etcd)
            .path("--data-dir", self.directory.join("etcd"))
            .arg(format!("--listen-client-urls={url}"))
            .arg(format!("--advertise-client-urls={url}"))
            // No peers: any free port will do, and the advertised one is never called.
            .arg("--listen-peer-urls=http://127.0.0.1:0")
            .path("--cert-file", &self.server.certificate)
            .path("--key-file", &self.server.key)
            .path("--trusted-ca-file", self.authority.certificate())
            .arg("--client-cert-auth")
            // The data is thrown away with the cluster: durability would only cost time.
            .args(["--unsafe-no-fsync", "--quota-backend-bytes=536870912", "--log-level=warn"])
    }

    /// The API server, with the defaults of Kubernetes wherever they work on one machine.
    pub(crate) fn api_server(&self, port: u16, etcd_port: u16, address: &str) -> Launch {
        self.launch(Binary::KubeApiserver)
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

    /// The built-in controllers.
    pub(crate) fn controller_manager(&self, port: u16, kubeconfig: &Path) -> Launch {
        self.launch(Binary::KubeControllerManager)
            .path("--kubeconfig", kubeconfig)
            .path("--service-account-private-key-file", &self.service_accounts.private)
            .path("--root-ca-file", self.authority.certificate())
            .arg("--use-service-account-credentials=true")
            .arg("--bind-address=127.0.0.1")
            .arg(format!("--secure-port={port}"))
            // There is only one: an election would cost two seconds at every start.
            .arg("--leader-elect=false")
            // The default spares an API server with many clients; here it would only make tests wait.
            .args(["--kube-api-qps=200", "--kube-api-burst=400"])
    }

    /// Where the audit log is.
    pub(crate) fn audit_log(&self) -> PathBuf {
        self.directory.join("audit.log")
    }

    /// Makes the API server keep an audit log. An event is in the file before its request is answered.
    pub(crate) fn with_audit(&self, launch: Launch, audit: Audit) -> io::Result<Launch> {
        let level = match audit {
            Audit::Off => return Ok(launch),
            Audit::Metadata => "Metadata",
            Audit::Request => "Request",
        };
        let policy = json!({
            "apiVersion": "audit.k8s.io/v1",
            "kind": "Policy",
            "omitStages": ["RequestReceived"],
            "rules": [{"level": level}],
        });
        let path = self.directory.join("audit-policy.json");
        fs::write(&path, policy.to_string())?;
        Ok(launch.path("--audit-policy-file", path).path("--audit-log-path", self.audit_log()))
    }
}
