//! `vmafx.controller.v1` as existing peers use it, written by hand from the contract and never from our `.proto` file.

use crate::frozen::{FieldRow, Package};

pub(crate) const PACKAGE: Package = Package {
    name: "vmafx.controller.v1",
    service: "VmafxController",
    methods: METHODS,
    fields: FIELDS,
    empty: &[],
    enums: ENUMS,
    reserved: &[],
};

#[rustfmt::skip]
const METHODS: &[(&str, &str)] = &[
    ("SubmitJob",    "(SubmitJobRequest) returns (SubmitJobResponse)"),
    ("GetJob",       "(GetJobRequest) returns (Job)"),
    ("CancelJob",    "(CancelJobRequest) returns (CancelJobResponse)"),
    ("StreamJobs",   "(StreamJobsRequest) returns (stream Job)"),
    ("RegisterNode", "(RegisterNodeRequest) returns (RegisterNodeResponse)"),
    ("Heartbeat",    "(HeartbeatRequest) returns (HeartbeatResponse)"),
    ("PullWork",     "(PullWorkRequest) returns (PullWorkResponse)"),
    ("ReportResult", "(ReportResultRequest) returns (ReportResultResponse)"),
];

#[rustfmt::skip]
const ENUMS: &[(&str, &[(&str, i32)])] = &[
    ("JobStatus", &[("PENDING", 0), ("RUNNING", 1), ("COMPLETED", 2), ("FAILED", 3), ("CANCELLED", 4)]),
];

#[rustfmt::skip]
const FIELDS: &[FieldRow] = &[
    ("ScoringParams", 1, "reference", "reference", "string"),
    ("ScoringParams", 2, "distorted", "distorted", "string"),
    ("ScoringParams", 3, "model",     "model",     "string"),
    ("ScoringParams", 4, "backend",   "backend",   "string"),

    ("Job", 1,  "id",              "id",             "string"),
    ("Job", 2,  "status",          "status",         "JobStatus"),
    ("Job", 3,  "scoring",         "scoring",        "ScoringParams"),
    ("Job", 4,  "partial_results", "partialResults", "repeated double"),
    ("Job", 5,  "assigned_node",   "assignedNode",   "string"),
    ("Job", 6,  "error",           "error",          "string"),
    ("Job", 7,  "created_at",      "createdAt",      "int64"),
    ("Job", 8,  "updated_at",      "updatedAt",      "int64"),
    ("Job", 9,  "final_score",     "finalScore",     "double"),
    ("Job", 10, "scoring_roots",   "scoringRoots",   "repeated string"),

    ("NodeCapability", 1, "gpu_vendor",  "gpuVendor",   "string"),
    ("NodeCapability", 2, "backends",    "backends",    "repeated string"),
    ("NodeCapability", 3, "concurrency", "concurrency", "int32"),

    ("SubmitJobRequest",  1, "scoring", "scoring", "ScoringParams"),
    ("SubmitJobResponse", 1, "job_id",  "jobId",   "string"),
    ("GetJobRequest",     1, "job_id",  "jobId",   "string"),
    ("CancelJobRequest",  1, "job_id",  "jobId",   "string"),
    ("CancelJobResponse", 1, "ok",      "ok",      "bool"),
    ("CancelJobResponse", 2, "message", "message", "string"),

    ("StreamJobsRequest", 1, "status_filter", "statusFilter", "repeated JobStatus"),

    ("RegisterNodeRequest",  1, "name",          "name",         "string"),
    ("RegisterNodeRequest",  2, "capability",    "capability",   "NodeCapability"),
    ("RegisterNodeResponse", 1, "node_id",       "nodeId",       "string"),
    ("RegisterNodeResponse", 2, "session_token", "sessionToken", "string"),

    ("HeartbeatRequest",  1, "node_id",         "nodeId",        "string"),
    ("HeartbeatRequest",  2, "session_token",   "sessionToken",  "string"),
    ("HeartbeatRequest",  3, "jobs_running",    "jobsRunning",   "int32"),
    ("HeartbeatRequest",  4, "running_job_ids", "runningJobIds", "repeated string"),
    ("HeartbeatResponse", 1, "ok",              "ok",            "bool"),
    ("HeartbeatResponse", 2, "cancel_job_ids",  "cancelJobIds",  "repeated string"),

    ("PullWorkRequest",  1, "node_id",       "nodeId",       "string"),
    ("PullWorkRequest",  2, "session_token", "sessionToken", "string"),
    ("PullWorkRequest",  3, "capability",    "capability",   "NodeCapability"),
    ("PullWorkResponse", 1, "job",           "job",          "Job"),

    ("ReportResultRequest",  1, "node_id",        "nodeId",        "string"),
    ("ReportResultRequest",  2, "session_token",  "sessionToken",  "string"),
    ("ReportResultRequest",  3, "job_id",         "jobId",         "string"),
    ("ReportResultRequest",  4, "final",          "final",         "bool"),
    ("ReportResultRequest",  5, "score",          "score",         "double"),
    ("ReportResultRequest",  6, "features",       "features",      "map<string, double>"),
    ("ReportResultRequest",  7, "partial_scores", "partialScores", "repeated double"),
    ("ReportResultRequest",  8, "error",          "error",         "string"),
    ("ReportResultResponse", 1, "ok",             "ok",            "bool"),
];
