//! The roles that each method and route needs, what it does, and the limits of each method. Unlisted ones are denied to
//! everybody.

use http::Method;

use crate::identity::{Role, Roles};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    /// Needs no authentication.
    Exempt,
    /// Needs one of these roles.
    Roles(Roles),
}

const READ: Permission = Permission::Roles(Roles::of(&[Role::Reader, Role::Writer, Role::Admin]));
const WRITE: Permission = Permission::Roles(Roles::of(&[Role::Writer, Role::Admin]));
/// Not for admins: only a node registers, pulls work and reports.
pub(super) const NODE: Permission = Permission::Roles(Roles::of(&[Role::Node]));

/// What a call does to jobs and nodes, and so whether it is in the audit log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallEffect {
    Reads,
    Changes,
    /// Nodes make these calls all the time, so the audit log has them at level debug only.
    ChangesOften,
}

/// Maximum size of a request message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageSize {
    /// A service name or a symbol.
    Tiny,
    Ordinary,
    /// As much as the setting permits: several URIs, labels, or a list of results.
    Large,
}

/// What a call may wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallDuration {
    /// Nothing but the store.
    Short,
    /// A job.
    Pull,
    /// A score.
    Score,
    /// The response is a stream.
    Stream,
    /// Request and response are streams.
    Exchange,
}

/// Path, permission, effect, and limits of a gRPC method.
pub type GrpcMethod = (&'static str, Permission, CallEffect, MessageSize, CallDuration);

static GRPC_METHODS: [GrpcMethod; 22] = {
    use CallDuration::{Exchange, Pull, Score, Short, Stream};
    use CallEffect::{Changes, ChangesOften, Reads};
    use MessageSize::{Large, Ordinary, Tiny};
    [
        ("/vmafx.controller.v1.VmafxController/SubmitJob", WRITE, Changes, Large, Short),
        ("/vmafx.controller.v1.VmafxController/GetJob", READ, Reads, Ordinary, Short),
        ("/vmafx.controller.v1.VmafxController/CancelJob", WRITE, Changes, Ordinary, Short),
        ("/vmafx.controller.v1.VmafxController/StreamJobs", READ, Reads, Ordinary, Stream),
        ("/vmafx.controller.v1.VmafxController/RegisterNode", NODE, Changes, Large, Short),
        ("/vmafx.controller.v1.VmafxController/Heartbeat", NODE, ChangesOften, Ordinary, Short),
        ("/vmafx.controller.v1.VmafxController/PullWork", NODE, ChangesOften, Large, Pull),
        ("/vmafx.controller.v1.VmafxController/ReportResult", NODE, Changes, Large, Short),
        ("/vmafx.controller.v1.VmafxController/ReleaseJob", NODE, Changes, Ordinary, Short),
        ("/vmafx.controller.v1.VmafxController/LabelJob", WRITE, Changes, Ordinary, Short),
        ("/vmafx.controller.v1.VmafxController/StreamSamples", READ, Reads, Large, Stream),
        ("/vmafx.controller.v1.VmafxController/Explain", READ, Reads, Ordinary, Short),
        ("/vmafx.controller.v1.VmafxController/ListJobs", READ, Reads, Ordinary, Short),
        ("/vmafx.controller.v1.VmafxController/ListNodes", READ, Reads, Ordinary, Short),
        ("/vmafx.controller.v1.VmafxController/UpdateJob", WRITE, Changes, Large, Short),
        ("/vmafx.v1.VmafxScoring/Score", WRITE, Changes, Large, Score),
        ("/vmafx.v1.VmafxScoring/ScoreStream", WRITE, Changes, Ordinary, Exchange),
        ("/vmafx.v1.VmafxScoring/Health", READ, Reads, Ordinary, Short),
        ("/grpc.health.v1.Health/Check", Permission::Exempt, Reads, Tiny, Short),
        ("/grpc.health.v1.Health/Watch", Permission::Exempt, Reads, Tiny, Stream),
        ("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", READ, Reads, Tiny, Exchange),
        ("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", READ, Reads, Tiny, Exchange),
    ]
};

/// Method, path in the router's syntax, permission.
pub type HttpRoute = (Method, &'static str, Permission);

pub static HTTP_ROUTES: [HttpRoute; 24] = [
    (Method::GET, "/healthz", Permission::Exempt),
    (Method::GET, "/readyz", Permission::Exempt),
    (Method::GET, "/metrics", Permission::Exempt),
    (Method::GET, "/openapi.json", Permission::Exempt),
    // The pages and files of the dashboard contain no data, and its session is how a caller shows a token.
    (Method::GET, "/", Permission::Exempt),
    (Method::GET, "/jobs", Permission::Exempt),
    (Method::GET, "/jobs/{id}", Permission::Exempt),
    (Method::GET, "/nodes", Permission::Exempt),
    (Method::GET, "/sign-in", Permission::Exempt),
    (Method::GET, "/assets/{name}", Permission::Exempt),
    (Method::GET, "/session", Permission::Exempt),
    (Method::POST, "/session", Permission::Exempt),
    (Method::DELETE, "/session", Permission::Exempt),
    (Method::POST, "/v1/score", WRITE),
    (Method::GET, "/v1/jobs", READ),
    (Method::POST, "/v1/jobs", WRITE),
    (Method::GET, "/v1/jobs/{id}", READ),
    (Method::PATCH, "/v1/jobs/{id}", WRITE),
    (Method::GET, "/v1/jobs/{id}/attempts", READ),
    (Method::GET, "/v1/jobs/{id}/explain", READ),
    (Method::POST, "/v1/jobs/{id}/cancel", WRITE),
    (Method::POST, "/v1/jobs/{id}/label", WRITE),
    (Method::GET, "/v1/nodes", READ),
    (Method::GET, "/v1/events", READ),
];

/// `None` denies the method to everybody.
pub fn of_grpc_method(path: &str) -> Option<Permission> {
    grpc_method(path).map(|(_, permission, ..)| *permission)
}

/// `None` for a method that is denied to everybody.
pub fn grpc_method(path: &str) -> Option<&'static GrpcMethod> {
    GRPC_METHODS.iter().find(|(method, ..)| *method == path)
}

/// The effect of a route. GET and HEAD are safe: their routes change nothing.
pub fn http_effect(method: &Method) -> CallEffect {
    if method.is_safe() { CallEffect::Reads } else { CallEffect::Changes }
}

/// `None` denies the route to everybody. HEAD needs the same permission as GET.
pub fn of_http_route(method: &Method, path: &str) -> Option<Permission> {
    let method = if method == Method::HEAD { &Method::GET } else { method };
    let route = HTTP_ROUTES.iter().find(|(listed, at, _)| listed == method && *at == path);
    route.map(|(_, _, permission)| *permission)
}

#[cfg(test)]
mod tests;
