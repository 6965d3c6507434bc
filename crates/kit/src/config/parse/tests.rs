use std::os::unix::ffi::OsStringExt;

use clap::ValueEnum;
use rstest::rstest;

use super::*;
use crate::config::{GoDuration, ListenAddr, SecretString};

const RENAMED: &[RenamedVariable] = &[
    RenamedVariable::new("VMAFX_T_PROBE_ADDR", "VMAFX_T_HEALTH_ADDR"),
    RenamedVariable::new("VMAFX_T_WEBHOOKS_ENABLED", "VMAFX_T_WEBHOOK_PORT").with("a port such as 9443"),
];

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Store {
    Sqlite,
    Postgres,
}

#[derive(Debug, Parser)]
#[command(name = "vmafx-t", version = "1.2.3")]
struct Args {
    /// Where health is served.
    #[arg(long, env = "VMAFX_T_HEALTH_ADDR", default_value = ":8082")]
    health_addr: ListenAddr,
    #[arg(long, env = "VMAFX_T_GRACE", default_value = "30s")]
    grace: GoDuration,
    #[arg(long, env = "VMAFX_T_TLS")]
    tls: bool,
    #[arg(long, env = "VMAFX_T_STORE", default_value = "sqlite")]
    store: Store,
    #[arg(long, env = "VMAFX_T_TOKEN")]
    token: Option<SecretString>,
    #[arg(long, env = "VMAFX_T_ROOTS", value_delimiter = ',')]
    roots: Vec<String>,
    #[arg(long, env = "VMAFX_T_NAME")]
    name: String,
}

fn read(flags: &[&str], variables: &[(&str, &str)]) -> Result<Args, ParseExit> {
    let env = [("VMAFX_T_NAME", "n")].iter().chain(variables).copied().collect();
    parse(["vmafx-t"].iter().chain(flags), &env, RENAMED)
}

fn refused(flags: &[&str], variables: &[(&str, &str)]) -> String {
    match read(flags, variables) {
        Err(ParseExit::Invalid(error)) => error.to_string(),
        other => panic!("expected invalid settings, not {other:?}"),
    }
}

#[test]
fn a_flag_wins_over_its_variable_and_a_variable_over_the_default() {
    assert_eq!(read(&[], &[]).unwrap().health_addr.to_string(), ":8082");
    let variables = [("VMAFX_T_HEALTH_ADDR", "0"), ("VMAFX_T_ROOTS", "/a,/b"), ("VMAFX_T_STORE", "postgres")];
    let args = read(&[], &variables).unwrap();
    assert_eq!((args.health_addr, args.store), (ListenAddr::Off, Store::Postgres));
    assert_eq!(args.roots, ["/a", "/b"]);
    let args = read(&["--health-addr", ":1", "--roots=/c"], &variables).unwrap();
    assert_eq!(args.health_addr.to_string(), ":1");
    assert_eq!(args.roots, ["/c"]);
}

#[test]
fn an_empty_variable_is_an_unset_one() {
    let args = read(&[], &[("VMAFX_T_HEALTH_ADDR", ""), ("VMAFX_T_TOKEN", "")]).unwrap();
    assert_eq!(args.health_addr.to_string(), ":8082");
    assert_eq!(args.token, None);
}

#[rstest]
#[case("true", &[], true)]
#[case("1", &[], true)]
#[case("False", &[], false)]
#[case("false", &["--tls"], true)]
#[case("true", &["--tls=false"], false)]
fn a_switch_reads_go_booleans_and_a_flag_overrules_it(
    #[case] value: &str,
    #[case] flags: &[&str],
    #[case] expected: bool,
) {
    assert_eq!(read(flags, &[("VMAFX_T_TLS", value)]).unwrap().tls, expected);
}

#[rstest]
#[case::address(
    "VMAFX_T_HEALTH_ADDR",
    "8082",
    "VMAFX_T_HEALTH_ADDR cannot be \"8082\": the port is missing: write host:port, or :port for every interface"
)]
#[case::duration(
    "VMAFX_T_GRACE",
    "30",
    "VMAFX_T_GRACE cannot be \"30\": the unit is missing: write 30s for seconds or 30m for minutes"
)]
#[case::switch("VMAFX_T_TLS", "yes", "VMAFX_T_TLS cannot be \"yes\": use one of true, false")]
#[case::choice("VMAFX_T_STORE", "mysql", "VMAFX_T_STORE cannot be \"mysql\": use one of sqlite, postgres")]
fn a_bad_variable_is_named(#[case] variable: &str, #[case] value: &str, #[case] expected: &str) {
    assert_eq!(refused(&[], &[(variable, value)]), expected);
}

#[test]
fn a_bad_flag_is_blamed_on_the_flag_even_when_its_variable_is_set() {
    let text = refused(&["--grace", "1d"], &[("VMAFX_T_GRACE", "5s")]);
    assert!(text.contains("--grace") && !text.contains("VMAFX_T_GRACE"), "{text}");
    let text = refused(&["--grace", "1d"], &[("VMAFX_T_GRACE", "1d")]);
    assert!(text.contains("--grace") && !text.contains("VMAFX_T_GRACE"), "{text}");
}

#[test]
fn bytes_that_are_no_text_are_blamed_on_their_variable() {
    let value = OsString::from_vec(vec![0xff]);
    let env = [("VMAFX_T_NAME", OsString::from("n")), ("VMAFX_T_GRACE", value)].into_iter().collect();
    match parse::<Args>(["vmafx-t"], &env, &[]) {
        Err(ParseExit::Invalid(error)) => {
            assert_eq!(error.to_string(), "VMAFX_T_GRACE does not hold UTF-8 text");
        }
        other => panic!("expected invalid settings, not {other:?}"),
    }
}

#[test]
fn what_is_missing_is_named_by_variable_and_flag() {
    match parse::<Args>(["vmafx-t"], &Environment::default(), &[]) {
        Err(ParseExit::Invalid(error)) => {
            assert_eq!(error.to_string(), "not set: VMAFX_T_NAME (--name <NAME>)");
        }
        other => panic!("expected invalid settings, not {other:?}"),
    }
}

#[test]
fn every_renamed_variable_is_refused_with_what_to_write_instead() {
    let text = refused(&[], &[("VMAFX_T_PROBE_ADDR", ":1"), ("VMAFX_T_WEBHOOKS_ENABLED", "true")]);
    assert_eq!(
        text,
        "VMAFX_T_PROBE_ADDR is no longer read: set VMAFX_T_HEALTH_ADDR instead\n\
         VMAFX_T_WEBHOOKS_ENABLED is no longer read: set VMAFX_T_WEBHOOK_PORT to a port such as 9443 instead"
    );
}

#[test]
fn help_teaches_variables_and_defaults_without_showing_what_is_set() {
    let variables = [("VMAFX_T_TOKEN", "hunter2"), ("VMAFX_T_HEALTH_ADDR", ":7")];
    let Err(ParseExit::HelpOrVersion(help)) = read(&["--help"], &variables) else { panic!("expected help") };
    let help = help.to_string();
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in
        ["Where health is served", "[env: VMAFX_T_HEALTH_ADDR]", "[default: :8082]", "--tls[=<true|false>]"]
    {
        assert!(help.contains(part), "{part} is missing from:\n{help}");
    }
    assert!(!help.contains("hunter2") && !help.contains(":7]"), "{help}");
    assert!(
        matches!(read(&["--version"], &[]), Err(ParseExit::HelpOrVersion(text)) if text.to_string() == "vmafx-t 1.2.3\n")
    );
}
