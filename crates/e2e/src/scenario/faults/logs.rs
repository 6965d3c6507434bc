//! What nodes say in their logs: what they were thanked for, and what was not taken from them.

use serde_json::Value;

use super::account::Thanks;

/// Reports of scores that were accepted.
pub(super) fn thanks(log: &str) -> Vec<Thanks> {
    let of_line = |line: Value| {
        let completed = line["message"] == "job ended" && line["outcome"] == "Completed";
        let attempt = u32::try_from(line["attempt"].as_u64()?).ok()?;
        completed.then(|| Some((line["job"].as_str()?.to_owned(), attempt)))?
    };
    lines(log).filter_map(of_line).collect()
}

/// Jobs whose result came too late, and was refused.
pub(super) fn refused(log: &str) -> Vec<String> {
    let late = lines(log).filter(|line| {
        line["message"] == "the result was not accepted" && line["code"] == "PermissionDenied"
    });
    late.filter_map(|line| line["job"].as_str().map(str::to_owned)).collect()
}

fn lines(log: &str) -> impl Iterator<Item = Value> {
    log.lines().filter_map(|line| serde_json::from_str(line).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = r#"not of ours
{"level":"INFO","message":"job started","job":"a","attempt":1}
{"level":"INFO","message":"job ended","job":"a","attempt":1,"outcome":"Completed","elapsed":"1s"}
{"level":"WARN","message":"the result was not accepted","job":"b","code":"PermissionDenied","error":"not yours"}
{"level":"INFO","message":"job ended","job":"b","attempt":2,"outcome":"Lost","elapsed":"9s"}
{"level":"WARN","message":"the result was not accepted","job":"c","code":"Unavailable"}
"#;

    #[test]
    fn thanks_are_for_what_was_accepted() {
        assert_eq!(thanks(LOG), [("a".to_owned(), 1)]);
    }

    #[test]
    fn what_was_refused_is_not_what_could_not_be_said() {
        assert_eq!(refused(LOG), ["b"]);
    }
}
