//! The environment variables and arguments of the containers, parsed by the programs' own settings.

use std::collections::{BTreeMap, BTreeSet};

use clap::Parser;
use serde_json::Value;
use vmafx_kit::config::{Environment, ParseExit, parse};

use crate::helm::Chart;

/// Variables that are not read by the settings.
const NOT_SETTINGS: [&str; 4] = ["POD_NAME", "POD_NAMESPACE", "A", "SSL_CERT_FILE"];

#[test]
fn every_variable_is_a_setting_of_its_program_and_has_a_valid_value() {
    let mut seen = BTreeSet::new();
    for values in Chart::combinations() {
        for object in Chart::render(&values, "ns") {
            for container in object["spec"]["template"]["spec"]["containers"].as_array().into_iter().flatten()
            {
                let name = container["name"].as_str().unwrap();
                match name {
                    "operator" => check_settings::<vmafx_operator::settings::Settings>(container),
                    "crds" => assert_eq!(container["args"], serde_json::json!(["install-crds"])),
                    "controller" | "migrate" => {
                        check_settings::<vmafx_controller::settings::Settings>(container);
                    }
                    other => panic!("{other}"),
                }
                seen.insert(name.to_owned());
            }
        }
    }
    assert_eq!(seen.len(), 4, "{seen:?}");
}

/// Kubernetes sets variables for the Services of a namespace, and those for `vmafx-operator-webhook` have names of the
/// operator's settings.
#[test]
fn no_variable_comes_from_a_service() {
    let mut pods = 0;
    for values in Chart::combinations() {
        for object in Chart::render(&values, "ns") {
            let pod = &object["spec"]["template"]["spec"];
            if pod.is_object() {
                assert_eq!(pod["enableServiceLinks"], false, "{}", object["metadata"]["name"]);
                pods += 1;
            }
        }
    }
    assert!(pods > 8, "{pods}");
}

fn check_settings<S: Parser + std::fmt::Debug>(container: &Value) {
    let command = S::command();
    let settings: BTreeSet<_> = command.get_arguments().filter_map(|one| one.get_env()?.to_str()).collect();
    let mut environment = Vec::new();
    for variable in container["env"].as_array().unwrap() {
        let name = variable["name"].as_str().unwrap();
        assert!(settings.contains(name) || NOT_SETTINGS.contains(&name), "{name} is not a setting");
        // The only values from a Secret are database URLs.
        environment.push((name, variable["value"].as_str().unwrap_or("postgres://user@host/database")));
    }
    let arguments = container["args"].as_array().into_iter().flatten().map(|one| one.as_str().unwrap());
    let environment: Environment = environment.into_iter().collect();
    match parse::<S>(["program"].into_iter().chain(arguments), &environment, &[]) {
        Ok(_) => {}
        Err(ParseExit::Invalid(refusal)) => panic!("{refusal}"),
        Err(ParseExit::HelpOrVersion(answer)) => panic!("{answer}"),
    }
}

#[test]
fn workers_and_trainers_have_accounts_of_their_own_and_the_issuer_is_not_configured() {
    let objects = Chart::render(&Chart::values("quick-start"), "ns");
    let named = |kind: &str, name: &str| {
        objects.iter().find(|one| one["kind"] == kind && one["metadata"]["name"] == name).unwrap()
    };
    for account in ["vmafx-worker", "vmafx-trainer", "vmafx-job"] {
        assert_eq!(named("ServiceAccount", account)["automountServiceAccountToken"], false);
    }
    let container = &named("Deployment", "vmafx-controller")["spec"]["template"]["spec"]["containers"][0];
    let variable = |name: &str| {
        let all = container["env"].as_array().unwrap();
        all.iter().find(|one| one["name"] == name).map(|one| one["value"].as_str().unwrap())
    };
    let subjects: Vec<_> = variable("VMAFX_AUTH_SUBJECTS").unwrap().split(',').collect();
    let expected = ["operator=vmafx:writer", "trainer=vmafx:reader", "worker=vmafx:node"]
        .map(|role| format!("system:serviceaccount:ns:vmafx-{role}"));
    assert_eq!(subjects, expected, "nobody else, and not the account default");
    // The controller reads the issuer from its own ServiceAccount token.
    assert_eq!(variable("VMAFX_AUTH_ISSUER"), None);
    assert!(variable("VMAFX_JWKS_TOKEN_FILE").is_some());
}

#[test]
fn with_a_tenant_for_each_namespace_only_the_dedicated_accounts_are_accepted_everywhere() {
    let objects = Chart::render(&Chart::values("namespaces"), "ns");
    let variable = |program: &str, name: &str| {
        let is_program = |one: &&Value| one["kind"] == "Deployment" && one["metadata"]["name"] == program;
        let container =
            &objects.iter().find(is_program).unwrap()["spec"]["template"]["spec"]["containers"][0];
        let mut all = container["env"].as_array().unwrap().iter();
        all.find(|one| one["name"] == name).map(|one| one["value"].as_str().unwrap().to_owned())
    };
    let operator = "system:serviceaccount:ns:vmafx-operator";
    let subjects = variable("vmafx-controller", "VMAFX_AUTH_SUBJECTS").unwrap();
    let expected = format!(
        "system:serviceaccount:*:vmafx-trainer=vmafx:reader,system:serviceaccount:*:vmafx-worker=vmafx:node,\
         {operator}=vmafx:writer"
    );
    assert_eq!(subjects, expected);
    assert_eq!(variable("vmafx-controller", "VMAFX_AUTH_OPERATOR_SUBJECT").as_deref(), Some(operator));
    let tenant = variable("vmafx-controller", "VMAFX_AUTH_DEFAULT_TENANT");
    assert_eq!(tenant.as_deref(), Some("{namespace}"));
    assert_eq!(variable("vmafx-controller", "VMAFX_DASHBOARD").as_deref(), Some("false"));
    let pools = variable("vmafx-controller", "VMAFX_SHARED_POOLS");
    assert_eq!(pools.as_deref(), Some("pool=*,studio-a=studio-b+studio-c"));
    assert_eq!(variable("vmafx-controller", "VMAFX_TENANT_WEIGHTS").as_deref(), Some("studio-a=2"));
    let called_for = variable("vmafx-operator", "VMAFX_CONTROLLER_TENANT_PER_NAMESPACE");
    assert_eq!(called_for.as_deref(), Some("true"));
}

/// A template that names one of them is refused, so a release under another name must pass on its own names.
#[test]
fn the_operator_knows_what_belongs_to_its_release() {
    let set = [
        "fullnameOverride=lab",
        "controller.extraEnv[0].name=X",
        "controller.extraEnv[0].valueFrom.secretKeyRef.name=extra",
    ];
    let objects = Chart::render_with(&Chart::values("postgres"), "ns", &set);
    let operator = objects
        .iter()
        .find(|one| one["kind"] == "Deployment" && one["metadata"]["name"] == "lab-operator")
        .unwrap();
    let env = operator["spec"]["template"]["spec"]["containers"][0]["env"].as_array().unwrap();
    let list = |name: &str| -> BTreeSet<&str> {
        let variable = env.iter().find(|one| one["name"] == name).unwrap();
        variable["value"].as_str().unwrap().split(',').collect()
    };
    let accounts: BTreeSet<_> = objects
        .iter()
        .filter(|one| one["kind"] == "ServiceAccount")
        .map(|one| one["metadata"]["name"].as_str().unwrap())
        .collect();
    let dedicated = ["WORKER", "TRAINER", "JOB"].map(|role| list(&format!("VMAFX_OPERATOR_{role}_ACCOUNT")));
    let mut known = list("VMAFX_OPERATOR_RELEASE_ACCOUNTS");
    known.extend(dedicated.iter().flatten());
    assert_eq!(known, accounts);
    let secrets = list("VMAFX_OPERATOR_RELEASE_SECRETS");
    let expected =
        ["db", "extra", "lab-controller-ca", "lab-controller-tls", "lab-operator-webhook", "scrape"];
    assert_eq!(secrets, expected.into());
}

#[test]
fn with_declared_tenants_the_controller_may_read_them_and_the_operator_names_its_namespaces() {
    let objects = Chart::render(&Chart::values("tenants"), "ns");
    let variables = |program: &str| {
        let is_program = |one: &&Value| one["kind"] == "Deployment" && one["metadata"]["name"] == program;
        let container =
            &objects.iter().find(is_program).unwrap()["spec"]["template"]["spec"]["containers"][0];
        let all = container["env"].as_array().unwrap().iter();
        all.map(|one| (one["name"].as_str().unwrap(), one["value"].clone())).collect::<BTreeMap<_, _>>()
    };
    let (controller, operator) = (variables("vmafx-controller"), variables("vmafx-operator"));
    assert_eq!(controller["VMAFX_AUTH_TENANTS_SOURCE"], "kubernetes");
    assert_eq!(controller.get("VMAFX_AUTH_DEFAULT_TENANT"), None);
    assert_eq!(operator["VMAFX_CONTROLLER_TENANT_PER_NAMESPACE"], "true");
    let subjects = controller["VMAFX_AUTH_SUBJECTS"].as_str().unwrap();
    assert!(subjects.contains("system:serviceaccount:*:vmafx-worker="), "{subjects}");

    let roles = |objects: &[Value]| {
        let of_controller =
            |one: &&Value| one["kind"] == "Role" && one["metadata"]["name"] == "vmafx-controller";
        objects.iter().filter(of_controller).count()
    };
    assert_eq!(roles(&objects), 1);
    assert_eq!(roles(&Chart::render(&Chart::values("namespaces"), "ns")), 0);
}

#[test]
fn additional_volumes_are_mounted_wherever_the_additional_variables_are_set() {
    let mut mounted = BTreeSet::new();
    for object in Chart::render(&Chart::values("tenants"), "ns") {
        let pod = &object["spec"]["template"]["spec"];
        let named =
            |list: &Value| list.as_array().into_iter().flatten().any(|one| one["name"] == "authorities");
        if named(&pod["volumes"]) && named(&pod["containers"][0]["volumeMounts"]) {
            mounted.insert(pod["containers"][0]["name"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(mounted.into_iter().collect::<Vec<_>>(), ["controller", "migrate", "operator"]);
}
