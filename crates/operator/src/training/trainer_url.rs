//! The URL at which a trainer is polled.

use std::fmt;
use std::str::FromStr;

use url::Url;

use crate::key::ObjectKey;
use crate::render::TRAINER;

pub const DEFAULT_TRAINER_URL: &str = "http://{service}.{namespace}.svc.cluster.local:9091";

const PLACEHOLDERS: [&str; 3] = ["{service}", "{namespace}", "{name}"];

/// The URL of every trainer, with placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrainerUrlTemplate(String);

impl TrainerUrlTemplate {
    /// The URL of a trainer's status.
    pub fn status_of(&self, training: &ObjectKey) -> String {
        let ObjectKey { namespace, name } = training;
        let base = self.filled(&TRAINER.service(name), namespace, name);
        format!("{}/status", base.trim_end_matches('/'))
    }

    pub fn is_https(&self) -> bool {
        self.0.starts_with("https:")
    }

    fn filled(&self, service: &str, namespace: &str, name: &str) -> String {
        let values = [service, namespace, name];
        PLACEHOLDERS
            .iter()
            .zip(values)
            .fold(self.0.clone(), |text, (placeholder, value)| text.replace(placeholder, value))
    }
}

impl FromStr for TrainerUrlTemplate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let template = Self(text.to_owned());
        let example = template.filled("s", "n", "m");
        if example.contains(['{', '}']) {
            return Err(format!("it has an unknown placeholder; use {}", PLACEHOLDERS.join(", ")));
        }
        let url = Url::parse(&example).map_err(|error| error.to_string())?;
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            return Err("it is not an HTTP or HTTPS URL".to_owned());
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err("the path /status is appended, so it must not have a query or fragment".to_owned());
        }
        Ok(template)
    }
}

impl fmt::Display for TrainerUrlTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn url(template: &str, name: &str) -> String {
        template.parse::<TrainerUrlTemplate>().unwrap().status_of(&ObjectKey::new("video", name))
    }

    #[test]
    fn the_default_is_the_service() {
        let url_of = url(DEFAULT_TRAINER_URL, "house-model");
        assert_eq!(url_of, "http://vmafx-trainer-house-model.video.svc.cluster.local:9091/status");
        let long = "m".repeat(60);
        let service = TRAINER.service(&long);
        assert_eq!(
            url(DEFAULT_TRAINER_URL, &long),
            format!("http://{service}.video.svc.cluster.local:9091/status")
        );
    }

    #[test]
    fn placeholders_are_filled_in_anywhere() {
        let proxy = "http://127.0.0.1:8001/api/v1/namespaces/{namespace}/services/{service}:9091/proxy/";
        let url = url(proxy, "m");
        let path = "/api/v1/namespaces/video/services/vmafx-trainer-m:9091/proxy/status";
        assert_eq!(url, format!("http://127.0.0.1:8001{path}"));
    }

    #[rstest]
    #[case("http://{pod}.local", "{service}, {namespace}, {name}")]
    #[case("trainer:9091", "not an HTTP or HTTPS URL")]
    #[case("nowhere", "relative URL")]
    #[case("http://trainer/?run={name}", "query")]
    fn what_is_not_a_url_is_refused(#[case] template: &str, #[case] message: &str) {
        let error = template.parse::<TrainerUrlTemplate>().unwrap_err();
        assert!(error.contains(message), "{error}");
    }
}
