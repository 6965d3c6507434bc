//! The operator's settings, from environment variables and the command line.

use url::Url;
use vmafx_job::ScoringRoots;
use vmafx_kit::channel::ChannelArgs;
use vmafx_kit::config::{GoDuration, HostPorts, ListenAddr, RenamedVariable, SettingsError};
use vmafx_kit::daemon;
use vmafx_kit::logs::LogArgs;

use crate::controller_tls::{
    CA_CONFIG_MAP, CLIENT_SECRET, ClientCertificateSource, ControllerCertificateArgs,
};
use crate::controllers::{ReconciledKind, ReconciledKinds};
use crate::job::in_pod::render::{JobDefaults, NAMESPACE_PLACEHOLDER};
use crate::lease::LeaseArgs;
use crate::node::render::{GpuResources, NodeDefaults};
use crate::render::pod::WorkerGuard;
use crate::render::{ControllerAccess, ControllerTls};
use crate::template_policy::TemplatePolicy;
use crate::template_policy::args::TemplateArgs;
use crate::training::TrainerArgs;
use crate::training::render::TrainerDefaults;
use crate::webhook::WebhookArgs;

/// Reconciles the custom resources of VMAFX.
#[derive(Clone, Debug, clap::Parser)]
#[command(name = "vmafx-operator", version)]
pub struct Settings {
    #[command(subcommand)]
    pub command: Option<Command>,

    /// Listen address for metrics; 0 turns them off.
    #[arg(long, env = "VMAFX_OPERATOR_METRICS_ADDR", value_name = "ADDR", default_value = ":8081")]
    pub metrics_addr: ListenAddr,

    /// Listen address for the health probes; 0 turns them off.
    #[arg(long, env = "VMAFX_OPERATOR_HEALTH_PROBE_ADDR", value_name = "ADDR", default_value = ":8082")]
    pub health_probe_addr: ListenAddr,

    /// Time for running work to finish when the process is asked to stop.
    #[arg(long, env = "VMAFX_OPERATOR_GRACEFUL_SHUTDOWN", value_name = "DURATION", default_value = "30s")]
    pub graceful_shutdown: GoDuration,

    /// Resources of one kind that are reconciled at the same time.
    #[arg(long, env = "VMAFX_OPERATOR_CONCURRENCY", value_name = "NUMBER", default_value_t = 8,
          value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=256))]
    pub concurrency: usize,

    /// Kinds of resources that this operator reconciles: job, node, training. An operator for some of them has a lease of its
    /// own and needs only their role.
    #[arg(long, env = "VMAFX_OPERATOR_CONTROLLERS", value_name = "LIST", value_delimiter = ',',
          value_enum, default_values_t = ReconciledKind::ALL)]
    pub controllers: Vec<ReconciledKind>,

    /// The namespace that the operator runs in; by default the namespace of its credentials.
    #[arg(long, env = "POD_NAMESPACE", value_name = "NAMESPACE")]
    pub namespace: Option<String>,

    #[command(flatten)]
    pub lease: LeaseArgs,

    #[command(flatten)]
    pub webhook: WebhookArgs,

    #[command(flatten)]
    pub controller: ControllerArgs,

    #[command(flatten)]
    pub workers: WorkerArgs,

    #[command(flatten)]
    pub trainers: TrainerArgs,

    #[command(flatten)]
    pub templates: TemplateArgs,

    #[command(flatten)]
    pub logs: LogArgs,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::Subcommand)]
pub enum Command {
    /// Reconcile until stopped. This is the default.
    #[default]
    Run,
    /// Install or update the custom resource definitions, then exit.
    InstallCrds,
}

#[derive(Clone, Debug, clap::Args)]
pub struct ControllerArgs {
    /// gRPC addresses of the controller, separated by commas; by default that of the Service vmafx-controller in the
    /// operator's namespace.
    #[arg(long, env = "VMAFX_CONTROLLER_GRPC_ADDR", value_name = "HOST:PORT,…")]
    pub controller_grpc_addr: Option<HostPorts>,

    /// HTTP address of the controller with its scheme; by default that of the same Service.
    #[arg(long, env = "VMAFX_CONTROLLER_HTTP_ADDR", value_name = "URL")]
    pub controller_http_addr: Option<String>,

    #[command(flatten)]
    pub channel: ChannelArgs,

    #[command(flatten)]
    pub certificate: ControllerCertificateArgs,

    /// Name of this cluster at the controller; by default the UID of the namespace kube-system.
    #[arg(long, env = "VMAFX_CLUSTER", value_name = "NAME", default_value = "")]
    pub cluster: String,

    /// Call the controller for the namespace of each resource. It needs `VMAFX_AUTH_DEFAULT_TENANT={namespace}` and
    /// `VMAFX_AUTH_OPERATOR_SUBJECT` at the controller.
    #[arg(long, env = "VMAFX_CONTROLLER_TENANT_PER_NAMESPACE")]
    pub tenant_per_namespace: bool,
}

impl ControllerArgs {
    /// The `ConfigMap` with the authorities, if this operator publishes it.
    fn ca_config_map(&self) -> Option<String> {
        let published =
            self.certificate.controller_cert_secret.is_some() || self.channel.controller_ca_file.is_some();
        published.then(|| CA_CONFIG_MAP.to_owned())
    }

    /// The Secret with the client certificate of Pods, if they have one.
    fn client_secret(&self) -> Option<String> {
        (self.certificate.client_certs != ClientCertificateSource::Off).then(|| CLIENT_SECRET.to_owned())
    }

    /// The address for workers, trainers and the operator itself.
    pub fn grpc(&self, namespace: &str) -> Result<HostPorts, SettingsError> {
        self.controller_grpc_addr.clone().map_or_else(|| default_grpc(namespace), Ok)
    }

    /// The address that is probed.
    pub fn http(&self, namespace: &str) -> Result<Url, SettingsError> {
        let default = || format!("http://{}:8080", service(namespace));
        let address = self.controller_http_addr.clone().unwrap_or_else(default);
        let refused = |reason: &str| SettingsError::Value {
            variable: "VMAFX_CONTROLLER_HTTP_ADDR".to_owned(),
            value: address.clone(),
            reason: format!("{reason}: write it as in http://vmafx-controller:8080"),
        };
        let url = Url::parse(&address).map_err(|error| refused(&error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            return Err(refused("it is not an HTTP or HTTPS URL"));
        }
        Ok(url)
    }
}

fn default_grpc(namespace: &str) -> Result<HostPorts, SettingsError> {
    let address = format!("{}:9090", service(namespace));
    address.parse().map_err(|error: <HostPorts as std::str::FromStr>::Err| SettingsError::Value {
        variable: "POD_NAMESPACE".to_owned(),
        value: namespace.to_owned(),
        reason: error.to_string(),
    })
}

fn service(namespace: &str) -> String {
    format!("vmafx-controller.{namespace}.svc.cluster.local")
}

/// Defaults for workers.
#[derive(Clone, Debug, clap::Args)]
pub struct WorkerArgs {
    /// Image of workers whose VmafxNode has no spec.image.
    #[arg(long, env = "VMAFX_OPERATOR_NODE_IMAGE", value_name = "IMAGE")]
    pub node_image: Option<String>,

    /// Locations that jobs with execution: Pod may read clips from and write reports to, as the controller's scoring
    /// roots are for all other jobs; {namespace} stands for the namespace of the job. Empty refuses such jobs.
    #[arg(long, env = "VMAFX_OPERATOR_SCORING_ROOTS", value_name = "LIST", default_value = "",
          value_parser = scoring_roots)]
    pub scoring_roots: ScoringRoots,

    /// Locations that jobs with execution: Pod may write reports to, in the same syntax. Empty: the scoring roots.
    #[arg(long, env = "VMAFX_OPERATOR_REPORT_ROOTS", value_name = "LIST", default_value = "",
          value_parser = scoring_roots)]
    pub report_roots: ScoringRoots,

    /// Time for a worker to finish its jobs when its Pod is stopped; jobs that are not finished then are handed back.
    #[arg(long, env = "VMAFX_OPERATOR_NODE_DRAIN", value_name = "DURATION", default_value = "5m")]
    pub node_drain: GoDuration,

    /// Audience of the ServiceAccount token by which workers authenticate to the controller.
    #[arg(
        long,
        env = "VMAFX_OPERATOR_TOKEN_AUDIENCE",
        value_name = "NAME",
        default_value = "vmafx-controller"
    )]
    pub token_audience: String,

    /// Registries without TLS, as host:port, from which workers pull models and to which trainers push them.
    #[arg(long, env = "VMAFX_OCI_PLAIN_HTTP", value_name = "LIST", value_delimiter = ',')]
    pub oci_plain_http: Vec<String>,

    /// Hosts of private networks, as host or host:port, that workers may pull models from.
    #[arg(long, env = "VMAFX_OCI_PRIVATE_HOSTS", value_name = "LIST", value_delimiter = ',')]
    pub oci_private_hosts: Vec<String>,

    /// Whether workers may score where Landlock or seccomp is not in force; by default that of the workers.
    #[arg(long, env = "VMAFX_CONFINEMENT", value_name = "POLICY", value_parser = ["required", "best-effort"])]
    pub confinement: Option<String>,

    /// Extended resource name of NVIDIA GPUs.
    #[arg(
        long,
        env = "VMAFX_OPERATOR_GPU_NVIDIA",
        value_name = "RESOURCE",
        default_value = "nvidia.com/gpu"
    )]
    pub gpu_nvidia: String,

    /// Extended resource name of AMD GPUs.
    #[arg(long, env = "VMAFX_OPERATOR_GPU_AMD", value_name = "RESOURCE", default_value = "amd.com/gpu")]
    pub gpu_amd: String,

    /// Extended resource name of Intel GPUs; with the xe driver it is gpu.intel.com/xe.
    #[arg(
        long,
        env = "VMAFX_OPERATOR_GPU_INTEL",
        value_name = "RESOURCE",
        default_value = "gpu.intel.com/i915"
    )]
    pub gpu_intel: String,
}

impl Settings {
    pub fn kinds(&self) -> ReconciledKinds {
        ReconciledKinds::new(&self.controllers)
    }

    /// How Pods that the operator renders reach the controller; they verify it by this `ConfigMap`, if there is one.
    fn controller_access(&self, address: &HostPorts, ca_config_map: Option<String>) -> ControllerAccess {
        let controller = &self.controller;
        let channel = &controller.channel;
        ControllerAccess {
            address: address.to_string(),
            tls: channel.controller_tls.then(|| ControllerTls {
                server_name: channel.controller_server_name.clone(),
                ca_config_map,
                client_secret: controller.client_secret(),
            }),
            cluster: controller.cluster.clone(),
            audience: self.workers.token_audience.clone(),
        }
    }

    /// What Pod templates may use; `namespace` is that of the operator.
    pub fn template_policy(&self, namespace: &str) -> TemplatePolicy {
        let mut policy = self.templates.policy(&self.webhook, namespace, &self.workers.token_audience);
        policy.release.secrets.extend(self.controller.certificate.secrets().map(str::to_owned));
        policy.release.secrets.extend(self.controller.client_secret());
        policy
    }

    pub fn node_defaults(&self, controller: &HostPorts, templates: &TemplatePolicy) -> NodeDefaults {
        let workers = &self.workers;
        NodeDefaults {
            image: workers.node_image.clone(),
            controller: self.controller_access(controller, self.controller.ca_config_map()),
            drain_seconds: i64::try_from(workers.node_drain.0.as_secs()).unwrap_or(i64::MAX / 2),
            gpus: workers.gpus(),
            plain_registries: workers.plain_registries(),
            guard: workers.guard(),
            templates: templates.clone(),
        }
    }

    pub fn trainer_defaults(&self, controller: &HostPorts, templates: &TemplatePolicy) -> TrainerDefaults {
        let ca_config_map =
            self.trainers.trainer_ca_configmap.clone().or_else(|| self.controller.ca_config_map());
        TrainerDefaults {
            image: self.trainers.trainer_image.clone(),
            controller: self.controller_access(controller, ca_config_map),
            plain_registries: self.workers.plain_registries(),
            templates: templates.clone(),
        }
    }

    /// For jobs with `execution: Pod`.
    pub fn job_defaults(&self, templates: &TemplatePolicy) -> JobDefaults {
        let workers = &self.workers;
        JobDefaults {
            image: workers.node_image.clone(),
            roots: workers.scoring_roots.clone(),
            report_roots: workers.report_roots.clone(),
            gpus: workers.gpus(),
            plain_registries: workers.plain_registries(),
            guard: workers.guard(),
            templates: templates.clone(),
        }
    }
}

impl WorkerArgs {
    fn plain_registries(&self) -> String {
        self.oci_plain_http.join(",")
    }

    fn guard(&self) -> WorkerGuard {
        WorkerGuard {
            confinement: self.confinement.clone().unwrap_or_default(),
            private_hosts: self.oci_private_hosts.join(","),
        }
    }

    fn gpus(&self) -> GpuResources {
        GpuResources {
            nvidia: self.gpu_nvidia.clone(),
            amd: self.gpu_amd.clone(),
            intel: self.gpu_intel.clone(),
        }
    }
}

/// Parses the list at start, so that a wrong root is not found by the first job.
fn scoring_roots(list: &str) -> Result<ScoringRoots, String> {
    if list.replace(NAMESPACE_PLACEHOLDER, "").contains(['{', '}']) {
        return Err(format!("it has an unknown placeholder; use {NAMESPACE_PLACEHOLDER}"));
    }
    ScoringRoots::parse(list, NAMESPACE_PLACEHOLDER)
        .map_err(|error| format!("{:?}: {}", error.root, error.problem))
}

impl daemon::DaemonSettings for Settings {
    const RENAMED: &'static [RenamedVariable] = &[
        RenamedVariable::new("VMAFX_OPERATOR_PROBE_ADDR", "VMAFX_OPERATOR_HEALTH_PROBE_ADDR"),
        RenamedVariable::new("VMAFX_OPERATOR_LEADER_ELECT", "VMAFX_OPERATOR_LEADER_ELECTION"),
        RenamedVariable::new("VMAFX_OPERATOR_LOG_LEVEL", "VMAFX_LOG_LEVEL"),
        RenamedVariable::new("VMAFX_OPERATOR_WEBHOOKS_ENABLED", "VMAFX_OPERATOR_WEBHOOK_PORT")
            .with("a port such as 9443, or 0"),
    ];

    fn logs(&self) -> LogArgs {
        self.logs.clone()
    }

    fn shutdown_budget(&self) -> GoDuration {
        self.graceful_shutdown
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use vmafx_kit::config::{Environment, ParseExit, parse};
    use vmafx_kit::daemon::DaemonSettings as _;

    use super::*;

    fn settings(env: &[(&str, &str)]) -> Result<Settings, ParseExit> {
        let env: Environment = env.iter().copied().collect();
        parse(["vmafx-operator"], &env, Settings::RENAMED)
    }

    #[test]
    fn the_defaults_are_those_of_the_contract() {
        let settings = settings(&[]).unwrap();
        assert_eq!(settings.metrics_addr.to_string(), ":8081");
        assert_eq!(settings.health_probe_addr.to_string(), ":8082");
        assert_eq!(settings.graceful_shutdown.to_string(), "30s");
        assert_eq!(settings.lease.settings(&settings.kinds()), Ok(None));
        assert_eq!(settings.webhook.webhook_port, 0);
        let controller = &settings.controller;
        let grpc = controller.grpc("vmafx").unwrap().to_string();
        assert_eq!(grpc, "vmafx-controller.vmafx.svc.cluster.local:9090");
        let http = controller.http("vmafx").unwrap();
        assert_eq!(http.as_str(), "http://vmafx-controller.vmafx.svc.cluster.local:8080/");
    }

    #[rstest]
    #[case::system(&[], [None, None])]
    #[case::issued(&[("VMAFX_OPERATOR_CONTROLLER_CERT_SECRET", "s")], [Some("vmafx-controller-ca"); 2])]
    #[case::from_a_file(&[("VMAFX_CONTROLLER_CA_FILE", "f")], [Some("vmafx-controller-ca"); 2])]
    #[case::another_for_trainers(
        &[("VMAFX_CONTROLLER_CA_FILE", "f"), ("VMAFX_OPERATOR_TRAINER_CA_CONFIGMAP", "own")],
        [Some("vmafx-controller-ca"), Some("own")]
    )]
    fn workers_and_trainers_verify_the_controller_by_a_config_map(
        #[case] env: &[(&str, &str)],
        #[case] expected: [Option<&str>; 2],
    ) {
        let settings = settings(&[env, &[("VMAFX_CONTROLLER_TLS", "true")]].concat()).unwrap();
        let grpc = settings.controller.grpc("vmafx").unwrap();
        let templates = settings.template_policy("vmafx");
        let access = [
            settings.node_defaults(&grpc, &templates).controller,
            settings.trainer_defaults(&grpc, &templates).controller,
        ];
        assert_eq!(
            access.map(|access| access.tls.unwrap().ca_config_map),
            expected.map(|name| name.map(str::to_owned))
        );
    }

    #[rstest]
    #[case("VMAFX_OPERATOR_PROBE_ADDR", "VMAFX_OPERATOR_HEALTH_PROBE_ADDR")]
    #[case("VMAFX_OPERATOR_LEADER_ELECT", "VMAFX_OPERATOR_LEADER_ELECTION")]
    #[case("VMAFX_OPERATOR_LOG_LEVEL", "VMAFX_LOG_LEVEL")]
    #[case("VMAFX_OPERATOR_WEBHOOKS_ENABLED", "VMAFX_OPERATOR_WEBHOOK_PORT to a port such as 9443, or 0")]
    fn an_old_name_is_refused_with_the_new_one(#[case] old: &str, #[case] new: &str) {
        let Err(ParseExit::Invalid(refusal)) = settings(&[(old, "true")]) else {
            panic!("{old} was accepted")
        };
        let expected = format!("{old} is no longer read: set {new} instead");
        assert!(refusal.to_string().contains(&expected), "{refusal}");
    }

    #[test]
    fn the_secrets_of_the_controllers_certificate_belong_to_the_release() {
        let env = [("VMAFX_CONTROLLER_TLS", "true"), ("VMAFX_OPERATOR_CONTROLLER_CERT_SECRET", "cert")];
        let secrets = settings(&env).unwrap().template_policy("vmafx").release.secrets;
        for secret in ["vmafx-controller-ca", "cert"] {
            assert!(secrets.iter().any(|name| name == secret), "{secrets:?}");
        }
    }

    #[test]
    fn jobs_in_pods_may_read_nothing_by_default() {
        let defaults = |settings: Settings| settings.job_defaults(&settings.template_policy("vmafx"));
        assert!(defaults(settings(&[]).unwrap()).roots.is_empty());
        let list = "s3://clips/{namespace}/, /media,box:";
        let settings = settings(&[("VMAFX_OPERATOR_SCORING_ROOTS", list)]).unwrap();
        let roots: Vec<_> = settings
            .job_defaults(&settings.template_policy("vmafx"))
            .roots
            .expand("video")
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(roots, ["s3://clips/video", "/media", "box:"]);
    }

    #[test]
    fn what_guards_workers_is_passed_on() {
        let set = [("VMAFX_CONFINEMENT", "required"), ("VMAFX_OCI_PRIVATE_HOSTS", "a:5000,b")];
        let settings = settings(&set).unwrap();
        let controller = settings.controller.grpc("vmafx").unwrap();
        let guards = [
            settings.node_defaults(&controller, &settings.template_policy("vmafx")).guard,
            settings.job_defaults(&settings.template_policy("vmafx")).guard,
        ];
        let expected =
            WorkerGuard { confinement: "required".to_owned(), private_hosts: "a:5000,b".to_owned() };
        assert_eq!(guards, [expected.clone(), expected]);
    }

    #[test]
    fn registries_without_tls_are_passed_on() {
        let settings = settings(&[("VMAFX_OCI_PLAIN_HTTP", "a:5000,b:80")]).unwrap();
        let controller = settings.controller.grpc("vmafx").unwrap();
        let passed_on = [
            settings.node_defaults(&controller, &settings.template_policy("vmafx")).plain_registries,
            settings.trainer_defaults(&controller, &settings.template_policy("vmafx")).plain_registries,
            settings.job_defaults(&settings.template_policy("vmafx")).plain_registries,
        ];
        assert_eq!(passed_on, ["a:5000,b:80"; 3]);
    }

    #[rstest]
    #[case("/media,media", "\"media\": it is neither an absolute path nor an address")]
    #[case("s3://clips/{tenant}", "it has an unknown placeholder; use {namespace}")]
    fn what_is_not_a_root_is_refused(#[case] root: &str, #[case] why: &str) {
        let Err(ParseExit::Invalid(refusal)) = settings(&[("VMAFX_OPERATOR_SCORING_ROOTS", root)]) else {
            panic!("{root} was accepted")
        };
        assert!(refusal.to_string().contains(why), "{refusal}");
    }

    #[rstest]
    #[case("VMAFX_OPERATOR_TRAINER_URL", "http://{pod}", "{service}, {namespace}, {name}")]
    #[case("VMAFX_OPERATOR_TRAINER_POLL", "0s", "at least 100ms")]
    fn settings_that_cannot_poll_trainers_are_refused_by_name(
        #[case] variable: &str,
        #[case] value: &str,
        #[case] why: &str,
    ) {
        let refusal = match settings(&[(variable, value)]) {
            Ok(settings) => settings.trainers.poll().unwrap_err(),
            Err(ParseExit::Invalid(refusal)) => refusal,
            Err(other) => panic!("{other:?}"),
        };
        let refusal = refusal.to_string();
        assert!(refusal.contains(variable) && refusal.contains(why), "{refusal}");
    }

    #[rstest]
    #[case("vmafx-controller:8080")]
    #[case("ftp://vmafx-controller")]
    #[case("http://")]
    fn an_address_that_cannot_be_probed_is_refused_by_name(#[case] address: &str) {
        let settings = settings(&[("VMAFX_CONTROLLER_HTTP_ADDR", address)]).unwrap();
        let refusal = settings.controller.http("vmafx").unwrap_err().to_string();
        assert!(refusal.starts_with("VMAFX_CONTROLLER_HTTP_ADDR cannot be"), "{refusal}");
    }
}
