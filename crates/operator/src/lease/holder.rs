//! The identity of this process as the holder of a lease.

use uuid::Uuid;
use vmafx_kit::config::Environment;

/// The host name, which is the name of the Pod in a Pod.
const HOST: &str = "/proc/sys/kernel/hostname";

/// The name of the Pod or host, for people, and a random part: a process that was restarted must not take the lease of its
/// predecessor for its own.
pub fn holder_identity(env: &Environment) -> String {
    let pod = env.get("POD_NAME").and_then(|name| name.to_str()).map(str::to_owned);
    let host = || std::fs::read_to_string(HOST).ok().map(|name| name.trim().to_owned());
    let name = pod.or_else(host).filter(|name| !name.is_empty());
    format!("{}_{}", name.as_deref().unwrap_or("vmafx-operator"), Uuid::new_v4())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_begins_with_the_pod_and_is_never_the_same() {
        let env: Environment = [("POD_NAME", "vmafx-operator-7d")].into_iter().collect();
        assert!(holder_identity(&env).starts_with("vmafx-operator-7d_"));
        assert_ne!(holder_identity(&env), holder_identity(&env));
    }

    #[test]
    fn without_a_pod_it_begins_with_the_host() {
        let host = std::fs::read_to_string(HOST).unwrap();
        assert!(holder_identity(&Environment::default()).starts_with(host.trim()));
    }
}
