#![allow(clippy::needless_pass_by_value, reason = "specs are written where they are used")]

use rstest::rstest;

use super::*;
use crate::job::in_pod::fixtures;

fn defaults() -> JobDefaults {
    JobDefaults {
        image: Some("vmafx-node:1".to_owned()),
        roots: roots("s3://clips/{namespace}/,/media,https://host"),
        ..fixtures::defaults()
    }
}

fn roots(list: &str) -> ScoringRoots {
    ScoringRoots::parse(list, NAMESPACE_PLACEHOLDER).unwrap()
}

/// The first Job of a resource.
fn render(job: &VmafxJob, defaults: &JobDefaults) -> Result<Value, RenderError> {
    super::render(job, defaults, 0)
}

fn job(spec: Value) -> VmafxJob {
    labelled(spec, json!({ "team": "codec", PRIORITY: "high" }))
}

fn labelled(spec: Value, labels: Value) -> VmafxJob {
    let mut whole = json!({
        "reference": "s3://clips/video/ref.y4m", "distorted": "s3://clips/video/dis.y4m", "execution": "Pod",
    });
    whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    serde_json::from_value(json!({
        "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob",
        "metadata": {
            "name": "intro", "namespace": "video", "uid": "11111111-2222-3333-4444-555555555555", "labels": labels,
        },
        "spec": whole,
    }))
    .unwrap()
}

fn rendered(spec: Value) -> Value {
    render(&job(spec), &defaults()).unwrap()
}

fn agent(job: &Value) -> &Value {
    &job["spec"]["template"]["spec"]["containers"][0]
}

fn variable<'a>(job: &'a Value, name: &str) -> Option<&'a str> {
    agent(job)["env"].as_array().unwrap().iter().find(|env| env["name"] == name)?["value"].as_str()
}

#[test]
fn the_job() {
    insta::assert_json_snapshot!(rendered(json!({
        "model": "vmaf_v0.6.1", "backend": "cuda", "backoffLimit": 2, "activeDeadlineSeconds": 600,
        "input": { "width": 1920, "height": 1080, "pixelFormat": "yuv422p", "bitDepth": 10 },
        "scoring": {
            "features": ["psnr", "ms-ssim"], "frameStep": 5, "scaleTo": "1280x720", "lengthMismatch": "Shortest",
        },
        "reportURI": "s3://clips/video/report.json", "ttlSecondsAfterFinished": 60,
    })));
}

#[test]
fn only_what_the_spec_says_is_said() {
    let job = rendered(json!({}));
    let expected = [
        "run-once",
        r#"--request={"reference":"s3://clips/video/ref.y4m","distorted":"s3://clips/video/dis.y4m","backend":"cpu"}"#,
        "--result=/dev/termination-log",
    ];
    assert_eq!(agent(&job)["args"], json!(expected));
    assert_eq!(job["spec"].get("activeDeadlineSeconds"), None);
    assert_eq!(job["spec"].get("ttlSecondsAfterFinished"), None, "the resource has it");
}

#[test]
fn an_address_is_no_way_to_a_variable() {
    let job = rendered(json!({ "reference": "https://host/$(AWS_SECRET_ACCESS_KEY)/$$x" }));
    let request = agent(&job)["args"][1].as_str().unwrap();
    assert!(request.contains(r#""reference":"https://host/$$(AWS_SECRET_ACCESS_KEY)/$$$$x""#), "{request}");
}

#[rstest]
#[case::plain(json!({}), json!({}), false, false)]
#[case::held(json!({ "suspend": true }), json!({}), true, true)]
#[case::queued(json!({}), json!({ QUEUE: "gpu" }), true, false)]
#[case::empty_queue(json!({}), json!({ QUEUE: "" }), false, false)]
fn a_queue_decides_when_a_job_begins(
    #[case] spec: Value,
    #[case] labels: Value,
    #[case] suspended: bool,
    #[case] held: bool,
) {
    let job = render(&labelled(spec, labels), &defaults()).unwrap();
    assert_eq!(job["spec"]["suspend"], suspended);
    assert_eq!(job["metadata"]["annotations"].get(HELD).is_some(), held);
}

#[test]
fn the_labels_of_kueue_are_passed_on_and_no_others() {
    let labels = json!({ QUEUE: "gpu", PRIORITY: "high", "team": "codec" });
    let job = render(&labelled(json!({}), labels), &defaults()).unwrap();
    let labels = &job["metadata"]["labels"];
    assert_eq!(
        (&labels[QUEUE], &labels[PRIORITY], labels.get("team")),
        (&json!("gpu"), &json!("high"), None)
    );
    assert_eq!(
        rendered(json!({}))["metadata"]["labels"].get(PRIORITY),
        None,
        "without a queue it means nothing"
    );
}

#[rstest]
#[case("cpu", None)]
#[case("cuda", Some("nvidia.com/gpu"))]
#[case("hip", Some("amd.com/gpu"))]
#[case("sycl", Some("gpu.intel.com/i915"))]
fn a_backend_is_a_gpu(#[case] backend: &str, #[case] resource: Option<&str>) {
    let job = rendered(json!({ "backend": backend }));
    assert_eq!(variable(&job, "VMAFX_BACKEND"), Some(backend));
    let limits = &agent(&job)["resources"]["limits"];
    assert_eq!(limits.as_object().map(serde_json::Map::len), resource.map(|_| 1));
    assert!(resource.is_none_or(|resource| limits[resource] == "1"), "{limits}");
}

#[test]
fn the_template_of_the_user_is_merged_and_what_is_ours_stays_ours() {
    let job = rendered(json!({ "podTemplate": {
        "metadata": { "labels": { "team": "codec", "vmafx.dev/job": "other" } },
        "spec": {
            "restartPolicy": "OnFailure",
            "nodeSelector": { "disk": "ssd" },
            "volumes": [{ "name": "media", "persistentVolumeClaim": { "claimName": "clips" } }],
            "inventedNextYear": true,
            "containers": [
                { "name": "agent", "image": "mine:2", "resources": { "limits": { "memory": "4Gi" } },
                  "volumeMounts": [{ "name": "media", "mountPath": "/media" }],
                  "env": [{ "name": "VMAFX_SCORING_ROOTS", "value": "/" },
                          { "name": "VMAFX_REPORT_ROOTS", "value": "/" }, { "name": "A", "value": "b" }] },
                { "name": "exporter", "image": "exporter:3" },
            ],
        },
    }}));
    let (template, pod) = (&job["spec"]["template"], &job["spec"]["template"]["spec"]);
    assert_eq!(template["metadata"]["labels"][JOB_LABEL], "intro");
    assert_eq!(template["metadata"]["labels"]["team"], "codec");
    assert_eq!((&pod["restartPolicy"], &pod["nodeSelector"]["disk"]), (&json!("Never"), &json!("ssd")));
    assert_eq!((&agent(&job)["image"], &pod["inventedNextYear"]), (&json!("mine:2"), &json!(true)));
    assert_eq!(variable(&job, "VMAFX_SCORING_ROOTS"), Some("s3://clips/video,/media,https://host/"));
    assert_eq!(variable(&job, "VMAFX_REPORT_ROOTS"), variable(&job, "VMAFX_SCORING_ROOTS"));
    assert_eq!((variable(&job, "A"), pod["volumes"].as_array().unwrap().len()), (Some("b"), 2));
    assert_eq!(pod["containers"][1]["name"], "exporter");
}

#[test]
fn a_report_may_be_outside_the_scoring_roots_if_it_is_inside_the_report_roots() {
    let job = job(json!({ "reportURI": "/reports/video/r.json" }));
    let defaults = JobDefaults { report_roots: roots("/reports/{namespace}"), ..defaults() };
    let rendered = render(&job, &defaults).unwrap();
    assert_eq!(variable(&rendered, "VMAFX_REPORT_ROOTS"), Some("/reports/video"));
}

#[rstest]
#[case::no_roots(json!({}), JobDefaults { roots: ScoringRoots::default(), ..defaults() }, Reason::InputRefused, false,
    "no location is permitted for jobs with execution: Pod: set VMAFX_OPERATOR_SCORING_ROOTS on the operator")]
#[case::reference_outside(json!({ "reference": "s3://clips/others/r.y4m?a=b" }), defaults(), Reason::InputRefused, false,
    "spec.reference: \"s3://clips/others/r.y4m\" cannot be used: it has a ? or # that is not permitted there: encode it as %3F or %23")]
#[case::distorted_outside(json!({ "distorted": "/etc/passwd" }), defaults(), Reason::InputRefused, false,
    "spec.distorted: \"/etc/passwd\" is outside the scoring roots of jobs with execution: Pod in this namespace: use an \
     address inside them, or have its location added (VMAFX_OPERATOR_SCORING_ROOTS on the operator)")]
#[case::report_outside(json!({ "reportURI": "/mediax/r.json" }), defaults(), Reason::InputRefused, false,
    "spec.reportURI: \"/mediax/r.json\" is outside the scoring roots of jobs with execution: Pod in this namespace: use an \
     address inside them, or have its location added (VMAFX_OPERATOR_SCORING_ROOTS on the operator)")]
#[case::report_among_the_clips(json!({ "reportURI": "/media/r.json" }),
    JobDefaults { report_roots: roots("/reports/{namespace}"), ..defaults() }, Reason::InputRefused, false,
    "spec.reportURI: \"/media/r.json\" is outside the report roots of jobs with execution: Pod in this namespace: use an \
     address inside them, or have its location added (VMAFX_OPERATOR_REPORT_ROOTS on the operator)")]
#[case::no_image(json!({}), JobDefaults { image: None, ..defaults() }, Reason::Invalid, false,
    "no image: set it for the container agent in spec.podTemplate, or VMAFX_OPERATOR_NODE_IMAGE on the operator")]
#[case::no_such_machine(json!({ "backend": "metal" }), defaults(), Reason::Invalid, true,
    "no Kubernetes node offers the backend metal: use execution: Queue and a node that does")]
#[case::no_report_format(json!({ "reportURI": "s3://clips/report.v2" }), defaults(), Reason::Rejected, true,
    "spec.reportURI: ends in .v2, which is not a report format; use .json, .csv, .html or .xml")]
#[case::no_template(json!({ "podTemplate": { "spec": { "containers": "agent" } } }), defaults(), Reason::Invalid, false,
    "spec.podTemplate: spec.containers: invalid type: string \"agent\", expected a sequence")]
fn what_is_missing_is_named(
    #[case] spec: Value,
    #[case] defaults: JobDefaults,
    #[case] reason: Reason,
    #[case] is_final: bool,
    #[case] text: &str,
) {
    let error = render(&job(spec), &defaults).unwrap_err();
    assert_eq!((error.reason(), error.is_final(), error.to_string()), (reason, is_final, text.to_owned()));
}

#[test]
fn an_image_of_the_template_is_enough() {
    let bare = JobDefaults { image: None, ..defaults() };
    let parts = json!({ "spec": { "containers": [{ "name": "agent", "image": "mine:2" }] } });
    assert_eq!(agent(&render(&job(json!({ "podTemplate": parts })), &bare).unwrap())["image"], "mine:2");
}

#[test]
fn registries_without_tls_are_told_and_may_be_chosen_anew() {
    let defaults = JobDefaults { plain_registries: "registry:5000".to_owned(), ..defaults() };
    let registries = |spec: Value| {
        let set = render(&job(spec), &defaults).unwrap();
        variable(&set, "VMAFX_OCI_PLAIN_HTTP").map(str::to_owned)
    };
    assert_eq!(registries(json!({})).as_deref(), Some("registry:5000"));
    let env = json!([{ "name": "VMAFX_OCI_PLAIN_HTTP", "value": "other:5000" }]);
    let template = json!({ "spec": { "containers": [{ "name": "agent", "env": env }] } });
    assert_eq!(registries(json!({ "podTemplate": template })).as_deref(), Some("other:5000"));
}

#[test]
fn a_job_that_replaces_another_has_the_retries_that_are_left() {
    let retries = |failed_before| {
        let job = super::render(&job(json!({ "backoffLimit": 2 })), &defaults(), failed_before).unwrap();
        job["spec"]["backoffLimit"].clone()
    };
    assert_eq!([0, 1, 2, 3].map(retries), [json!(2), json!(1), json!(0), json!(0)]);
}
