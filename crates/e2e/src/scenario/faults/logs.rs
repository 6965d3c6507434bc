//! Reads from the logs of nodes which of their reports the controller accepted and which it rejected. Pure.

use serde_json::Value;

use super::verify::AcceptedReport;

/// Reports of scores that the controller accepted.
pub(super) fn accepted_reports(log: &str) -> Vec<AcceptedReport> {
    let of_line = |line: Value| {
        let completed = line["message"] == "job ended" && line["outcome"] == "Completed";
        let attempt = u32::try_from(line["attempt"].as_u64()?).ok()?;
        completed.then(|| Some((line["job"].as_str()?.to_owned(), attempt)))?
    };
    lines(log).filter_map(of_line).collect()
}

/// Jobs whose result came too late and was rejected.
pub(super) fn rejected_jobs(log: &str) -> Vec<String> {
    let late = lines(log).filter(|line| {
        line["message"] == "the controller did not accept a result" && line["code"] == "PermissionDenied"
    });
    late.filter_map(|line| line["job"].as_str().map(str::to_owned)).collect()
}

fn lines(log: &str) -> impl Iterator<Item = Value> {
    log.lines().filter_map(|line| serde_json::from_str(line).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = r#"not JSON
{"level":"INFO","message":"job started","job":"a","attempt":1}
{"level":"INFO","message":"job ended","job":"a","attempt":1,"outcome":"Completed","elapsed":"1s"}
{"level":"WARN","message":"the controller did not accept a result","job":"b","code":"PermissionDenied","error":"not yours"}
{"level":"INFO","message":"job ended","job":"b","attempt":2,"outcome":"Lost","elapsed":"9s"}
{"level":"WARN","message":"the controller did not accept a result","job":"c","code":"Unavailable"}
"#;

    #[test]
    fn accepted_reports_are_those_of_completed_jobs() {
        assert_eq!(accepted_reports(LOG), [("a".to_owned(), 1)]);
    }

    #[test]
    fn a_rejected_result_is_not_one_that_could_not_be_sent() {
        assert_eq!(rejected_jobs(LOG), ["b"]);
    }
}
