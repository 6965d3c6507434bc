//! Where a trainer is asked how it is.

use std::fmt;
use std::str::FromStr;

use url::Url;

use crate::key::ObjectKey;
use crate::render::TRAINER;

/// By the trainer's Service.
pub const DEFAULT_TRAINER_URL: &str = "http://{service}.{namespace}.svc.cluster.local:9091";

const NAMES: [&str; 3] = ["{service}", "{namespace}", "{name}"];

/// The address of every trainer, with names to be filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrainerUrlTemplate(String);

impl TrainerUrlTemplate {
    /// Where this one is asked.
    pub fn status_of(&self, training: &ObjectKey) -> String {
        let ObjectKey { namespace, name } = training;
        let base = self.filled(&TRAINER.service(name), namespace, name);
        format!("{}/status", base.trim_end_matches('/'))
    }

    /// Whether TLS is spoken.
    pub fn is_https(&self) -> bool {
        self.0.starts_with("https:")
    }

    fn filled(&self, service: &str, namespace: &str, name: &str) -> String {
        let values = [service, namespace, name];
        NAMES.iter().zip(values).fold(self.0.clone(), |text, (name, value)| text.replace(name, value))
    }
}

impl FromStr for TrainerUrlTemplate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let template = Self(text.to_owned());
        let example = template.filled("s", "n", "m");
        if example.contains(['{', '}']) {
            return Err(format!("only {} can be filled in", NAMES.join(", ")));
        }
        let url = Url::parse(&example).map_err(|error| error.to_string())?;
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            return Err("it is no address of a web server".to_owned());
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err("the path /status is put behind it, so it must end with a path".to_owned());
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

    fn asked(template: &str, name: &str) -> String {
        template.parse::<TrainerUrlTemplate>().unwrap().status_of(&ObjectKey::new("video", name))
    }

    #[test]
    fn usually_by_its_service() {
        let usual = asked(DEFAULT_TRAINER_URL, "house-model");
        assert_eq!(usual, "http://vmafx-trainer-house-model.video.svc.cluster.local:9091/status");
        let long = "m".repeat(60);
        let service = TRAINER.service(&long);
        assert_eq!(
            asked(DEFAULT_TRAINER_URL, &long),
            format!("http://{service}.video.svc.cluster.local:9091/status")
        );
    }

    #[test]
    fn from_outside_by_whatever_leads_there() {
        let proxy = "http://127.0.0.1:8001/api/v1/namespaces/{namespace}/services/{service}:9091/proxy/";
        let url = asked(proxy, "m");
        let path = "/api/v1/namespaces/video/services/vmafx-trainer-m:9091/proxy/status";
        assert_eq!(url, format!("http://127.0.0.1:8001{path}"));
    }

    #[rstest]
    #[case("http://{pod}.local", "{service}, {namespace}, {name}")]
    #[case("trainer:9091", "web server")]
    #[case("nowhere", "relative URL")]
    #[case("http://trainer/?run={name}", "path")]
    fn what_leads_nowhere_is_refused(#[case] template: &str, #[case] why: &str) {
        let refused = template.parse::<TrainerUrlTemplate>().unwrap_err();
        assert!(refused.contains(why), "{refused}");
    }
}
