//! The methods of gRPC.

use super::{CHANGE, Entry, LOOK, WORK};

/// Every method with its path.
const METHODS: &[(&str, Entry)] = &[
    ("/vmafx.controller.v1.VmafxController/SubmitJob", CHANGE),
    ("/vmafx.controller.v1.VmafxController/GetJob", LOOK),
    ("/vmafx.controller.v1.VmafxController/CancelJob", CHANGE),
    ("/vmafx.controller.v1.VmafxController/StreamJobs", LOOK),
    ("/vmafx.controller.v1.VmafxController/RegisterNode", WORK),
    ("/vmafx.controller.v1.VmafxController/Heartbeat", WORK),
    ("/vmafx.controller.v1.VmafxController/PullWork", WORK),
    ("/vmafx.controller.v1.VmafxController/ReportResult", WORK),
    ("/vmafx.controller.v1.VmafxController/ReleaseJob", WORK),
    ("/vmafx.controller.v1.VmafxController/LabelJob", CHANGE),
    ("/vmafx.controller.v1.VmafxController/StreamSamples", LOOK),
    ("/vmafx.controller.v1.VmafxController/Explain", LOOK),
    ("/vmafx.controller.v1.VmafxController/ListJobs", LOOK),
    ("/vmafx.controller.v1.VmafxController/ListNodes", LOOK),
    ("/vmafx.v1.VmafxScoring/Score", CHANGE),
    ("/vmafx.v1.VmafxScoring/ScoreStream", CHANGE),
    ("/vmafx.v1.VmafxScoring/Health", LOOK),
    ("/grpc.health.v1.Health/Check", Entry::Exempt),
    ("/grpc.health.v1.Health/Watch", Entry::Exempt),
    ("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", LOOK),
    ("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", LOOK),
];

/// Who may call the method of a path; `None` is nobody.
pub fn grpc(path: &str) -> Option<Entry> {
    METHODS.iter().find(|(method, _)| *method == path).map(|(_, entry)| *entry)
}

/// All of them.
pub const fn grpc_methods() -> &'static [(&'static str, Entry)] {
    METHODS
}
