//! Waits for resources, and reads what their conditions and events say.

use std::fmt::Debug;
use std::time::Duration;

use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::ListParams;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use vmafx_testkit::kube::TestNamespace;
use vmafx_testkit::wait;

/// Timeout for everything that usually takes a second or two; a busy machine may take longer.
pub(crate) const TIMEOUT: Duration = Duration::from_mins(1);

/// Waits until `holds`; the failure shows the last state.
pub(crate) async fn until<K>(api: &Api<K>, name: &str, what: &str, holds: impl Fn(&K) -> bool) -> K
where
    K: Clone + Debug + DeserializeOwned + Serialize,
{
    wait::until(TIMEOUT, what, || async {
        let object = api.get(name).await.map_err(|error| error.to_string())?;
        let mut last = json!(object);
        last["metadata"]["managedFields"].take();
        if holds(&object) { Ok(object) } else { Err(last.to_string()) }
    })
    .await
    .unwrap()
}

/// A field of a condition; empty without the condition.
pub(crate) fn condition_field(resource: &impl Serialize, type_: &str, field: &str) -> String {
    let resource = json!(resource);
    let mut conditions = resource["status"]["conditions"].as_array().into_iter().flatten();
    let condition = conditions.find(|one| one["type"] == type_);
    condition.and_then(|one| one[field].as_str()).unwrap_or_default().to_owned()
}

pub(crate) fn reason(resource: &impl Serialize, type_: &str) -> String {
    condition_field(resource, type_, "reason")
}

pub(crate) fn message(resource: &impl Serialize, type_: &str) -> String {
    condition_field(resource, type_, "message")
}

/// The operator's events so far, oldest first.
pub(crate) async fn events(namespace: &TestNamespace) -> Vec<Event> {
    let events = Api::<Event>::namespaced(namespace.client(), namespace.name());
    let mut events = events.list(&ListParams::default()).await.unwrap().items;
    events.retain(|event| event.reporting_controller.as_deref() == Some("vmafx.dev/vmafx-operator"));
    events.sort_by_key(|event| event.event_time.clone().map(|time| time.0));
    events
}
