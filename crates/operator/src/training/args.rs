//! The settings of trainers.

use std::time::Duration;

use vmafx_kit::config::{GoDuration, Refusal};

use super::trainer_url::{self, TrainerUrlTemplate};

const POLL: &str = "VMAFX_OPERATOR_TRAINER_POLL";

/// Less would be a load and no news.
const LEAST_POLL: Duration = Duration::from_millis(100);

/// What trainers get that do not say otherwise; flatten this into the operator's settings.
#[derive(Clone, Debug, clap::Args)]
pub struct TrainerArgs {
    /// Image of trainers whose `VmafxModelTraining` names none.
    #[arg(long, env = "VMAFX_OPERATOR_TRAINER_IMAGE", value_name = "IMAGE")]
    pub trainer_image: Option<String>,

    /// Where a trainer is asked how it is, without the path /status; {service}, {namespace} and {name} stand for the
    /// names of its Service, its namespace and its `VmafxModelTraining`. For an operator outside the cluster, which
    /// cannot reach a Service by its name.
    #[arg(
        long,
        env = "VMAFX_OPERATOR_TRAINER_URL",
        value_name = "URL",
        default_value = trainer_url::DEFAULT_TRAINER_URL
    )]
    pub trainer_url: TrainerUrlTemplate,

    /// Between two questions to a trainer that learns; one that does not yet is asked every five seconds.
    #[arg(long, env = "VMAFX_OPERATOR_TRAINER_POLL", value_name = "DURATION", default_value = "60s")]
    pub trainer_poll: GoDuration,

    /// `ConfigMap` in the namespace of each run with the authorities (ca.crt) by which trainers know the controller;
    /// the image's own by default.
    #[arg(long, env = "VMAFX_OPERATOR_TRAINER_CA_CONFIGMAP", value_name = "NAME")]
    pub trainer_ca_configmap: Option<String>,
}

impl TrainerArgs {
    /// Between two questions to a trainer that learns.
    pub fn poll(&self) -> Result<Duration, Refusal> {
        let every = self.trainer_poll.0;
        if every < LEAST_POLL {
            return Err(Refusal::Value {
                variable: POLL.to_owned(),
                value: self.trainer_poll.to_string(),
                reason: "every trainer would be asked without a pause: give it some time, such as 60s"
                    .to_owned(),
            });
        }
        Ok(every)
    }
}
