//! The release with its policies, and the other Pods of the test.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use vmafx_testkit::kube::node::PAUSE_IMAGE;

use crate::external::ExternalServices;
use crate::platform::Platform;

pub(super) const NAMESPACE: &str = "network";
pub(super) const MONITORING: &str = "network-monitoring";
pub(super) const CLIENTS: &str = "network-clients";
pub(super) const ELSEWHERE: &str = "network-elsewhere";
const NAMESPACES: [&str; 4] = [NAMESPACE, MONITORING, CLIENTS, ELSEWHERE];

pub(super) const RELEASE: &str = "vmafx";
pub(super) const BUCKET: &str = "network-clips";

/// Secret with the database's address.
pub(super) const DATABASE: &str = "database";

/// Pods that only connect, or only answer: namespace, name, arguments.
const PEERS: [(&str, &str, &[&str]); 5] = [
    (NAMESPACE, "neighbour", &[]),
    (MONITORING, "scraper", &[]),
    (CLIENTS, "client", &[]),
    (ELSEWHERE, "stranger", &[]),
    (ELSEWHERE, "server", &["serve", ":8080", "hello"]),
];

pub(super) async fn install(platform: &Platform) -> Result<()> {
    let kubectl = platform.kubectl();
    for namespace in NAMESPACES {
        platform.namespace(namespace).await?;
    }
    for (namespace, name, args) in PEERS {
        kubectl.namespaced(namespace).apply(&peer(name, args).to_string()).await?;
    }
    let external = platform.external_services().await?;
    let database = external.database().await?;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": DATABASE }, "stringData": { "uri": database },
    });
    kubectl.namespaced(NAMESPACE).apply(&secret.to_string()).await?;
    let values = values(platform, external, &address_of(&database)?, true)?;
    platform.helm().install(RELEASE, NAMESPACE, &values).await?;
    platform.until_webhook_answers(NAMESPACE).await
}

pub(super) async fn remove(platform: &Platform) -> Result<()> {
    let kubectl = platform.kubectl().namespaced(NAMESPACE);
    kubectl.run(&["delete", "vmtrain,vmjob,vmnode", "--all", "--timeout=180s"]).await?;
    platform.helm().uninstall(RELEASE, NAMESPACE).await?;
    let [own, others @ ..] = NAMESPACES.map(|namespace| Box::pin(platform.remove(namespace)));
    let [monitoring, clients, elsewhere] = others;
    tokio::try_join!(own, monitoring, clients, elsewhere).map(drop)
}

/// The peers in these values are Pods of [`PEERS`] or external services.
pub(super) fn values(
    platform: &Platform,
    external: &ExternalServices,
    database: &str,
    policies: bool,
) -> Result<Value> {
    let named = |namespace: &str| json!([{ "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": namespace } } }]);
    let (registry, s3) = (external.registry(), s3_address(external)?);
    Ok(platform.values(json!({
        "operator": { "webhook": { "enabled": true }, "plainRegistries": [registry] },
        "controller": {
            "scoringRoots": [format!("s3://{BUCKET}")],
            "store": { "backend": "postgres", "postgresql": { "secretName": DATABASE } },
        },
        "crds": { "upgrade": false },
        "networkPolicy": {
            "enabled": policies,
            "metricsScrape": named(MONITORING),
            "controllerIngress": named(CLIENTS),
            "workerEgress": [egress_rule(&[registry, &s3])?],
            "databaseEgress": [egress_rule(&[database])?],
        },
    })))
}

/// An egress rule for addresses of one host.
fn egress_rule(addresses: &[&str]) -> Result<Value> {
    let (mut hosts, mut ports) = (Vec::new(), Vec::new());
    for address in addresses {
        let (host, port) = address.rsplit_once(':').with_context(|| format!("no port in {address}"))?;
        hosts.push(host);
        ports.push(json!({ "port": port.parse::<u16>()?, "protocol": "TCP" }));
    }
    hosts.dedup();
    let to: Vec<_> =
        hosts.iter().map(|host| json!({ "ipBlock": { "cidr": format!("{host}/32") } })).collect();
    Ok(json!({ "to": to, "ports": ports }))
}

/// `host:port` of `scheme://user@host:port/path`.
pub(super) fn address_of(url: &str) -> Result<String> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split(['/', '?']).next().unwrap_or(rest);
    let host = host.rsplit('@').next().unwrap_or(host);
    ensure!(host.contains(':'), "no port in {host}");
    Ok(host.to_owned())
}

fn s3_address(external: &ExternalServices) -> Result<String> {
    let variables = external.s3().variables();
    let url = variables.iter().find(|(name, _)| name == "AWS_ENDPOINT_URL").context("S3 has no address")?;
    address_of(&url.1)
}

fn peer(name: &str, args: &[&str]) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name, "labels": { "app": name } },
        "spec": {
            "terminationGracePeriodSeconds": 1,
            "securityContext": { "runAsNonRoot": true, "runAsUser": 65532, "seccompProfile": { "type": "RuntimeDefault" } },
            "containers": [{
                "name": name, "image": PAUSE_IMAGE, "imagePullPolicy": "Never", "args": args,
                "securityContext": {
                    "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": { "drop": ["ALL"] },
                },
            }],
        },
    })
}

/// A worker with credentials for the object store.
pub(super) fn worker(external: &ExternalServices) -> Value {
    let variables = external.s3().variables();
    let env: Vec<_> = variables.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
    json!({
        "apiVersion": "vmafx.dev/v1", "kind": "VmafxNode", "metadata": { "name": "pool" },
        "spec": {
            "gpuVendor": "cpu", "capacity": 1,
            "podTemplate": { "spec": { "containers": [{ "name": "agent", "env": env }] } },
        },
    })
}

/// A training that pushes to the registry.
pub(super) fn trainer(external: &ExternalServices) -> Value {
    json!({
        "apiVersion": "vmafx.dev/v1", "kind": "VmafxModelTraining", "metadata": { "name": "house" },
        "spec": {
            "baseModel": "vmaf_v0.6.1", "algorithm": "online-sgd-ema",
            "outputRegistry": format!("{}/network/models", external.registry()),
            "dataSource": { "nodeSelector": { "gpu.vendor": "cpu" } },
        },
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::database("postgres://user:secret@10.0.0.1:5432/name?sslmode=disable", "10.0.0.1:5432")]
    #[case::web("http://10.0.0.1:9000", "10.0.0.1:9000")]
    fn an_address_is_found_in_a_url(#[case] url: &str, #[case] expected: &str) {
        assert_eq!(address_of(url).unwrap(), expected);
    }

    #[test]
    fn ports_of_one_host_are_one_rule() {
        let port = |port| json!({ "port": port, "protocol": "TCP" });
        let rule = json!({ "to": [{ "ipBlock": { "cidr": "10.0.0.1/32" } }], "ports": [port(1), port(2)] });
        assert_eq!(egress_rule(&["10.0.0.1:1", "10.0.0.1:2"]).unwrap(), rule);
    }
}
