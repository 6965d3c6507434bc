//! A release behind its policies, bystanders, and what values name.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use vmafx_testkit::kube::node::PAUSE_IMAGE;

use crate::outside::Outside;
use crate::platform::Platform;

pub(super) const NAMESPACE: &str = "network";
pub(super) const MONITORING: &str = "network-monitoring";
pub(super) const CLIENTS: &str = "network-clients";
pub(super) const ELSEWHERE: &str = "network-elsewhere";
const NAMESPACES: [&str; 4] = [NAMESPACE, MONITORING, CLIENTS, ELSEWHERE];

pub(super) const RELEASE: &str = "vmafx";
pub(super) const BUCKET: &str = "network-clips";

/// The Secret with the database's address.
pub(super) const DATABASE: &str = "database";

/// Pods whose only part is to be somebody, and what they do.
const BYSTANDERS: [(&str, &str, &[&str]); 5] = [
    (NAMESPACE, "neighbour", &[]),
    (MONITORING, "scraper", &[]),
    (CLIENTS, "client", &[]),
    (ELSEWHERE, "stranger", &[]),
    (ELSEWHERE, "server", &["serve", ":8080", "hello"]),
];

/// Namespaces, bystanders and the release.
pub(super) async fn install(platform: &Platform) -> Result<()> {
    let kubectl = platform.kubectl();
    for namespace in NAMESPACES {
        platform.namespace(namespace).await?;
    }
    for (namespace, name, args) in BYSTANDERS {
        kubectl.namespaced(namespace).apply(&bystander(name, args).to_string()).await?;
    }
    let outside = platform.outside().await?;
    let database = outside.database().await?;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": DATABASE }, "stringData": { "uri": database },
    });
    kubectl.namespaced(NAMESPACE).apply(&secret.to_string()).await?;
    let values = values(platform, outside, &address_of(&database)?, true)?;
    platform.helm().install(RELEASE, NAMESPACE, &values).await?;
    platform.answered(NAMESPACE).await
}

/// The release and everything around it.
pub(super) async fn remove(platform: &Platform) -> Result<()> {
    let kubectl = platform.kubectl().namespaced(NAMESPACE);
    kubectl.run(&["delete", "vmtrain,vmjob,vmnode", "--all", "--timeout=180s"]).await?;
    platform.helm().uninstall(RELEASE, NAMESPACE).await?;
    let [own, others @ ..] = NAMESPACES.map(|namespace| Box::pin(platform.remove(namespace)));
    let [monitoring, clients, elsewhere] = others;
    tokio::try_join!(own, monitoring, clients, elsewhere).map(drop)
}

/// Whom each of the values names is one of the bystanders, or a service outside.
pub(super) fn values(
    platform: &Platform,
    outside: &Outside,
    database: &str,
    policies: bool,
) -> Result<Value> {
    let named = |namespace: &str| json!([{ "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": namespace } } }]);
    let (registry, s3) = (outside.registry(), s3_address(outside)?);
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
            "workerEgress": [way_out(&[registry, &s3])?],
            "databaseEgress": [way_out(&[database])?],
        },
    })))
}

/// The rule that lets Pods out to addresses of one host.
fn way_out(addresses: &[&str]) -> Result<Value> {
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

fn s3_address(outside: &Outside) -> Result<String> {
    let variables = outside.s3().variables();
    let url = variables.iter().find(|(name, _)| name == "AWS_ENDPOINT_URL").context("S3 has no address")?;
    address_of(&url.1)
}

fn bystander(name: &str, args: &[&str]) -> Value {
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

/// A worker that may use the object store.
pub(super) fn worker(outside: &Outside) -> Value {
    let variables = outside.s3().variables();
    let env: Vec<_> = variables.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
    json!({
        "apiVersion": "vmafx.dev/v1", "kind": "VmafxNode", "metadata": { "name": "pool" },
        "spec": {
            "gpuVendor": "cpu", "capacity": 1,
            "podTemplate": { "spec": { "containers": [{ "name": "agent", "env": env }] } },
        },
    })
}

/// A run that writes to the registry.
pub(super) fn trainer(outside: &Outside) -> Value {
    json!({
        "apiVersion": "vmafx.dev/v1", "kind": "VmafxModelTraining", "metadata": { "name": "house" },
        "spec": {
            "baseModel": "vmaf_v0.6.1", "algorithm": "online-sgd-ema",
            "outputRegistry": format!("{}/network/models", outside.registry()),
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
        assert_eq!(way_out(&["10.0.0.1:1", "10.0.0.1:2"]).unwrap(), rule);
    }
}
