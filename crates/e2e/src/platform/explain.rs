//! Diagnostics of a namespace after a failure.

use super::Platform;
use super::namespace::LABEL;
use crate::kubectl::Kubectl;

const LINES: &str = "--tail=20";

impl Platform {
    /// Resources, events and the last log lines of a namespace. What cannot be read is replaced by the error.
    pub async fn explain(&self, namespace: &str) -> String {
        let kubectl = self.kubectl.namespaced(namespace);
        let mut text = vec![format!("\n==== {namespace}")];
        let kinds = "vmafxnodes,vmafxjobs,vmafxmodeltrainings,deployments,statefulsets,jobs,pods,pvc";
        let statuses = "jsonpath={range .items[*]}{.status}{'\\n'}{end}";
        for args in [
            &["get", kinds, "-o", "wide"][..],
            &["get", "events", "--sort-by=.lastTimestamp"],
            &["get", "vmafxnodes,vmafxmodeltrainings", "-o", statuses],
        ] {
            text.push(format!("$ kubectl {}", args.join(" ")));
            text.push(output_or_error(&kubectl, args).await);
        }
        for pod in names(&kubectl, "pods").await {
            text.push(format!("---- {pod}"));
            text.push(output_or_error(&kubectl, &["logs", &pod, "--all-containers", LINES]).await);
            if let Ok(log) = kubectl.run(&["logs", &pod, "--all-containers", "--previous", LINES]).await {
                text.push(format!("---- {pod}, before its last restart\n{log}"));
            }
        }
        text.join("\n")
    }

    /// The same for every namespace that [`Platform::namespace`] created.
    pub async fn explain_all(&self) -> String {
        let mut text = String::new();
        for namespace in names(&self.kubectl, &format!("namespaces --selector={LABEL}")).await {
            text += &self.explain(&namespace).await;
        }
        text
    }
}

async fn output_or_error(kubectl: &Kubectl, args: &[&str]) -> String {
    kubectl.run(args).await.unwrap_or_else(|error| format!("{error:#}"))
}

async fn names(kubectl: &Kubectl, which: &str) -> Vec<String> {
    let args: Vec<_> = which.split(' ').collect();
    let Ok(list) = kubectl.get(&args).await else { return Vec::new() };
    let items = list["items"].as_array().cloned().unwrap_or_default();
    items.iter().filter_map(|item| item["metadata"]["name"].as_str().map(str::to_owned)).collect::<Vec<_>>()
}
