//! Settings of trainers.

use std::time::Duration;

use vmafx_kit::config::{GoDuration, SettingsError};

use super::trainer_url::{self, TrainerUrlTemplate};

const POLL: &str = "VMAFX_OPERATOR_TRAINER_POLL";

/// More frequent polls would be load without new information.
const MIN_POLL: Duration = Duration::from_millis(100);

/// Flattened into the operator's settings.
#[derive(Clone, Debug, clap::Args)]
pub struct TrainerArgs {
    /// Image of trainers whose `VmafxModelTraining` has no spec.image.
    #[arg(long, env = "VMAFX_OPERATOR_TRAINER_IMAGE", value_name = "IMAGE")]
    pub trainer_image: Option<String>,

    /// URL of a trainer without the path /status; {service}, {namespace} and {name} stand for the names of its Service,
    /// its namespace and its `VmafxModelTraining`. Set it for an operator outside the cluster, which cannot reach a
    /// Service by its name.
    #[arg(
        long,
        env = "VMAFX_OPERATOR_TRAINER_URL",
        value_name = "URL",
        default_value = trainer_url::DEFAULT_TRAINER_URL
    )]
    pub trainer_url: TrainerUrlTemplate,

    /// Poll interval of a trainer that learns; one that does not learn yet is polled every five seconds.
    #[arg(long, env = "VMAFX_OPERATOR_TRAINER_POLL", value_name = "DURATION", default_value = "60s")]
    pub trainer_poll: GoDuration,

    /// `ConfigMap` in the namespace of each run with the certificate authorities (ca.crt) by which trainers verify the
    /// controller, instead of the one that the operator publishes.
    #[arg(long, env = "VMAFX_OPERATOR_TRAINER_CA_CONFIGMAP", value_name = "NAME")]
    pub trainer_ca_configmap: Option<String>,
}

impl TrainerArgs {
    /// Poll interval of a trainer that learns.
    pub fn poll(&self) -> Result<Duration, SettingsError> {
        let interval = self.trainer_poll.0;
        if interval < MIN_POLL {
            return Err(SettingsError::Value {
                variable: POLL.to_owned(),
                value: self.trainer_poll.to_string(),
                reason: format!("at least {MIN_POLL:?} is needed, such as 60s"),
            });
        }
        Ok(interval)
    }
}
