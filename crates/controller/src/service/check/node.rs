//! What nodes say of themselves.

use vmafx_job::Backend;
use vmafx_job::limits::MAX_NAME_LENGTH;
use vmafx_queue::node::{self, NewNode};
use vmafx_queue::policy::{MAX_BACKENDS, MAX_HEARTBEAT_JOBS};

use super::MOST_SLOTS;
use super::jobs::labels;
use super::text::{at_most, origin, required_word, word};
use crate::refusal::Refusal;
use crate::service::request::{Capability, Heartbeat, Pull, Register};

const LONGEST_VENDOR: usize = 64;

/// A node that is new.
pub(in crate::service) fn register(request: Register) -> Result<NewNode, Refusal> {
    required_word("name", &request.name, MAX_NAME_LENGTH)?;
    if let Some(resource) = &request.resource {
        origin("resource", resource)?;
    }
    let Capability { gpu_vendor, backends, concurrency, labels: own, device } = request.capability;
    word("capability.gpu_vendor", &gpu_vendor, LONGEST_VENDOR)?;
    word("capability.device", &device, MAX_NAME_LENGTH)?;
    labels("capability.labels", &own)?;
    self::backends(&backends)?;
    let slots = slots(concurrency)?;
    let capability = node::Capability { vendor: gpu_vendor, backends, slots, labels: own, device };
    Ok(NewNode { name: request.name, capability, resource: request.resource })
}

/// A free slot; gives the number of slots.
pub(in crate::service) fn pull(request: &Pull) -> Result<u32, Refusal> {
    backends(&request.backends)?;
    slots(request.concurrency)
}

/// A sign of life. What is no id is no error: it is answered as lost.
pub(in crate::service) fn heartbeat(request: &Heartbeat) -> Result<(), Refusal> {
    at_most("running_job_ids", request.running_job_ids.len(), MAX_HEARTBEAT_JOBS)?;
    at_most("progress", request.progress.len(), MAX_HEARTBEAT_JOBS)?;
    for (index, (_, _, progress)) in request.progress.iter().enumerate() {
        if i64::try_from(progress.done).is_err() || i64::try_from(progress.total).is_err() {
            return Err(Refusal::invalid(format!("progress[{index}].progress"), "is beyond 63 bits"));
        }
    }
    Ok(())
}

fn backends(backends: &[String]) -> Result<(), Refusal> {
    at_most("capability.backends", backends.len(), MAX_BACKENDS)?;
    let names = Backend::ALL.map(Backend::name);
    match backends.iter().position(|backend| !names.contains(&backend.as_str())) {
        None => Ok(()),
        Some(index) => {
            let problem = format!("must be one of {}", names.join(", "));
            Err(Refusal::invalid(format!("capability.backends[{index}]"), problem))
        }
    }
}

/// A node that does not tell has one.
fn slots(concurrency: i32) -> Result<u32, Refusal> {
    match u32::try_from(concurrency) {
        Ok(0) => Ok(1),
        Ok(slots @ ..=MOST_SLOTS) => Ok(slots),
        _ => Err(Refusal::invalid("capability.concurrency", format!("must be between 1 and {MOST_SLOTS}"))),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn with(capability: Capability) -> Register {
        Register { name: "node-0".into(), capability, resource: None }
    }

    fn many_labels() -> std::collections::BTreeMap<String, String> {
        (0..65).map(|n| (n.to_string(), String::new())).collect()
    }

    #[rstest]
    #[case::no_name(Register::default(), "name: is required")]
    #[case::long_name(Register { name: "n".repeat(254), ..Register::default() }, "name: must have at most 253 characters")]
    #[case::control(Register { name: "a\u{7f}".into(), ..Register::default() }, "name: must not contain control characters")]
    #[case::backend(with(Capability { backends: vec!["cpu".into(), String::new()], ..Capability::default() }), "capability.backends[1]: must be one of cpu, cuda, sycl, hip, metal")]
    #[case::backends(with(Capability { backends: vec!["cpu".into(); 17], ..Capability::default() }), "capability.backends: must have at most 16 items")]
    #[case::negative(with(Capability { concurrency: -1, ..Capability::default() }), "capability.concurrency: must be between 1 and 64")]
    #[case::slots(with(Capability { concurrency: 65, ..Capability::default() }), "capability.concurrency: must be between 1 and 64")]
    #[case::labels(with(Capability { labels: many_labels(), ..Capability::default() }), "capability.labels: must have at most 64 items")]
    #[case::label(with(Capability { labels: [("a".to_owned(), "v".repeat(254))].into(), ..Capability::default() }), "capability.labels[\"a\"]: must have at most 253 characters")]
    #[case::device(with(Capability { device: "a\nb".into(), ..Capability::default() }), "capability.device: must not contain control characters")]
    fn a_refusal_names_the_field_and_the_rule(#[case] asked: Register, #[case] expected: &str) {
        assert_eq!(register(asked).unwrap_err().to_string(), expected);
    }

    #[test]
    fn a_node_that_tells_nothing_has_one_slot() {
        assert_eq!(register(with(Capability::default())).unwrap().capability.slots, 1);
    }

    #[test]
    fn a_heartbeat_names_at_most_sixty_four() {
        let ids = |count| Heartbeat { running_job_ids: vec!["x".into(); count], ..Heartbeat::default() };
        assert_eq!(heartbeat(&ids(64)), Ok(()));
        assert_eq!(
            heartbeat(&ids(65)).unwrap_err().to_string(),
            "running_job_ids: must have at most 64 items"
        );
    }
}
