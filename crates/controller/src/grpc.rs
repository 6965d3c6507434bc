//! The two services over gRPC, with reflection and health.
//!
//! This layer only converts: a message to a request of [`Service`], its result to a message, and a refusal to a status
//! code by the table in `grpc/status.rs`.

mod controller;
mod convert;
mod count;
mod limits;
mod scoring;
mod serving;
mod status;

use std::convert::Infallible;

use tonic::service::{Routes, RoutesBuilder};
use tonic_health::server::HealthReporter;
use vmafx_kit::health::ServingSignal;
use vmafx_kit::tasks::Shutdown;
use vmafx_proto::controller::v1::vmafx_controller_server::VmafxControllerServer;
use vmafx_proto::scoring::v1::vmafx_scoring_server::VmafxScoringServer;

use self::controller::Controller;
pub(crate) use self::count::code_name;
pub use self::count::{CallMetrics, CountCalls};
pub use self::limits::{MethodTimes, method_limits};
use self::scoring::Scoring;
pub use self::serving::ServingLayer;
pub(crate) use self::status::refused;
use crate::audit::AuditedCall;
use crate::auth::CallAccess;
use crate::identity::Identity;
use crate::refusal::Refusal;
use crate::service::Service;

/// Maximum size of a message, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageSizes {
    pub receive: usize,
    pub send: usize,
}

impl Default for MessageSizes {
    fn default() -> Self {
        Self { receive: 4 * 1024 * 1024, send: 4 * 1024 * 1024 }
    }
}

/// Everything that is served over gRPC. Authentication happens before: a call without an [`Identity`] among its
/// extensions is refused. The reporter is for [`report_health`].
pub async fn routes(
    service: &Service,
    sizes: MessageSizes,
) -> Result<(Routes, HealthReporter), tonic_reflection::server::Error> {
    let (health, health_service) = tonic_health::server::health_reporter();
    health.set_serving::<VmafxControllerServer<Controller>>().await;
    health.set_serving::<VmafxScoringServer<Scoring>>().await;
    let reflection = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(vmafx_proto::FILE_DESCRIPTOR_SET)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    let mut routes = RoutesBuilder::default();
    routes
        .add_service(
            VmafxControllerServer::new(Controller(service.clone()))
                .max_decoding_message_size(sizes.receive)
                .max_encoding_message_size(sizes.send),
        )
        .add_service(
            VmafxScoringServer::new(Scoring(service.clone()))
                .max_decoding_message_size(sizes.receive)
                .max_encoding_message_size(sizes.send),
        )
        .add_service(health_service)
        .add_service(reflection().build_v1()?)
        .add_service(reflection().build_v1alpha()?);
    Ok((routes.routes(), health))
}

/// Reports both services as serving while the store can be reached, and as not serving otherwise and after shutdown
/// begins.
pub async fn report_health(
    health: HealthReporter,
    serving: ServingSignal,
    shutdown: Shutdown,
) -> Result<(), Infallible> {
    while shutdown.run_until_begun(serving.stopped()).await.is_some() {
        set_not_serving(&health).await;
        if shutdown.run_until_begun(serving.started()).await.is_none() {
            break;
        }
        health.set_serving::<VmafxControllerServer<Controller>>().await;
        health.set_serving::<VmafxScoringServer<Scoring>>().await;
    }
    set_not_serving(&health).await;
    Ok(())
}

async fn set_not_serving(health: &HealthReporter) {
    health.set_not_serving::<VmafxControllerServer<Controller>>().await;
    health.set_not_serving::<VmafxScoringServer<Scoring>>().await;
}

fn caller<T>(request: &tonic::Request<T>) -> Result<Identity, Refusal> {
    request.extensions().get::<Identity>().cloned().ok_or(Refusal::Unauthenticated)
}

fn access<T>(request: &tonic::Request<T>) -> Result<CallAccess, Refusal> {
    request.extensions().get::<CallAccess>().cloned().ok_or(Refusal::Unauthenticated)
}

/// The line of a call in the audit log.
fn audited<T>(request: &tonic::Request<T>) -> AuditedCall {
    AuditedCall::of(request.extensions())
}
