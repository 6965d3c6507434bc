//! The roles that each method and route needs. Unlisted ones are denied to everybody.

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
const NODE: Permission = Permission::Roles(Roles::of(&[Role::Node]));

const GRPC_METHODS: &[(&str, Permission)] = &[
    ("/vmafx.controller.v1.VmafxController/SubmitJob", WRITE),
    ("/vmafx.controller.v1.VmafxController/GetJob", READ),
    ("/vmafx.controller.v1.VmafxController/CancelJob", WRITE),
    ("/vmafx.controller.v1.VmafxController/StreamJobs", READ),
    ("/vmafx.controller.v1.VmafxController/RegisterNode", NODE),
    ("/vmafx.controller.v1.VmafxController/Heartbeat", NODE),
    ("/vmafx.controller.v1.VmafxController/PullWork", NODE),
    ("/vmafx.controller.v1.VmafxController/ReportResult", NODE),
    ("/vmafx.controller.v1.VmafxController/ReleaseJob", NODE),
    ("/vmafx.controller.v1.VmafxController/LabelJob", WRITE),
    ("/vmafx.controller.v1.VmafxController/StreamSamples", READ),
    ("/vmafx.controller.v1.VmafxController/Explain", READ),
    ("/vmafx.controller.v1.VmafxController/ListJobs", READ),
    ("/vmafx.controller.v1.VmafxController/ListNodes", READ),
    ("/vmafx.controller.v1.VmafxController/UpdateJob", WRITE),
    ("/vmafx.v1.VmafxScoring/Score", WRITE),
    ("/vmafx.v1.VmafxScoring/ScoreStream", WRITE),
    ("/vmafx.v1.VmafxScoring/Health", READ),
    ("/grpc.health.v1.Health/Check", Permission::Exempt),
    ("/grpc.health.v1.Health/Watch", Permission::Exempt),
    ("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", READ),
    ("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", READ),
];

/// Method, path in the router's syntax, permission.
pub type HttpRoute = (Method, &'static str, Permission);

pub static HTTP_ROUTES: [HttpRoute; 15] = [
    (Method::GET, "/healthz", Permission::Exempt),
    (Method::GET, "/readyz", Permission::Exempt),
    (Method::GET, "/metrics", Permission::Exempt),
    (Method::GET, "/openapi.json", Permission::Exempt),
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
    GRPC_METHODS.iter().find(|(method, _)| *method == path).map(|(_, permission)| *permission)
}

/// `None` denies the route to everybody. HEAD needs the same permission as GET.
pub fn of_http_route(method: &Method, path: &str) -> Option<Permission> {
    let method = if method == Method::HEAD { &Method::GET } else { method };
    let route = HTTP_ROUTES.iter().find(|(listed, at, _)| listed == method && *at == path);
    route.map(|(_, _, permission)| *permission)
}

#[cfg(test)]
mod tests;
