//! Lists of jobs.
//!
//! The index `jobs_list` orders the jobs of each state by creation time and id. A list merges the ranges of the
//! states that it selects, so a few running jobs are found among a million finished ones, and reading stops when
//! the page is full.

use rusqlite::{Connection, named_params};

use super::rows::{self, COLUMNS, JobRow, from_row};
use crate::StoreResult;
use crate::ids::TenantId;
use crate::job::Origin;
use crate::store::{Filter, Page};
use crate::transition::State;

pub(super) fn list(
    connection: &Connection,
    tenant: &TenantId,
    filter: &Filter,
    page: &Page,
) -> StoreResult<Vec<JobRow>> {
    if !filter.ids.is_empty() {
        return by_ids(connection, tenant, filter, page);
    }
    let origin = filter.origin.clone().unwrap_or_default();
    let (after_time, after_id) =
        page.after.map_or((None, None), |(time, id)| (Some(time.0), Some(*id.0.as_bytes())));
    let mut statement = connection.prepare_cached(&statement(&filter.states, &origin, page))?;
    let parameters = named_params! {
        ":tenant": tenant.as_str(),
        ":limit": page.limit,
        ":time": after_time,
        ":id": after_id,
        ":cluster": origin.cluster,
        ":namespace": origin.namespace,
        ":name": origin.name,
        ":uid": origin.uid,
    };
    let named: Vec<_> = parameters
        .iter()
        .filter(|(name, _)| matches!(statement.parameter_index(name), Ok(Some(_))))
        .copied()
        .collect();
    Ok(statement.query_map(named.as_slice(), from_row)?.collect::<rusqlite::Result<_>>()?)
}

/// There are few distinct statements, so each is prepared once for many lists.
fn statement(states: &[State], origin: &Origin, page: &Page) -> String {
    let (order, beyond) = if page.newest_first { ("DESC", "<") } else { ("ASC", ">") };
    let mut conditions = vec!["tenant = :tenant".to_owned()];
    if page.after.is_some() {
        conditions.push(format!("(created_at, id) {beyond} (:time, :id)"));
    }
    for (part, value) in [
        ("cluster", &origin.cluster),
        ("namespace", &origin.namespace),
        ("name", &origin.name),
        ("uid", &origin.uid),
    ] {
        if !value.is_empty() {
            conditions.push(format!("origin_{part} = :{part}"));
        }
    }
    let conditions = conditions.join(" AND ");
    let selected = State::ALL.iter().filter(|state| states.is_empty() || states.contains(state));
    let ranges = if origin.uid.is_empty() {
        let range = |state: &State| {
            format!(
                "SELECT {COLUMNS} FROM jobs INDEXED BY jobs_list WHERE {conditions} AND state = '{}'",
                state.name()
            )
        };
        selected.map(range).collect::<Vec<_>>().join(" UNION ALL ")
    } else {
        let names: Vec<_> = selected.map(|state| format!("'{}'", state.name())).collect();
        format!(
            "SELECT {COLUMNS} FROM jobs INDEXED BY jobs_origin WHERE {conditions} AND state IN ({})",
            names.join(", ")
        )
    };
    format!("{ranges} ORDER BY created_at {order}, id {order} LIMIT :limit")
}

/// Looks each id up; a filter has at most 1000.
fn by_ids(
    connection: &Connection,
    tenant: &TenantId,
    filter: &Filter,
    page: &Page,
) -> StoreResult<Vec<JobRow>> {
    let mut ids = filter.ids.clone();
    ids.sort_unstable();
    ids.dedup();
    let mut found = Vec::new();
    for id in ids {
        found.extend(rows::by_id(connection, tenant, id)?.filter(|row| matches(filter, page, row)));
    }
    found.sort_by_key(|row| (row.created_at, row.id));
    if page.newest_first {
        found.reverse();
    }
    found.truncate(page.limit as usize);
    Ok(found)
}

fn matches(filter: &Filter, page: &Page, row: &JobRow) -> bool {
    let origin = |expected: &Origin| {
        row.origin.as_ref().map_or(*expected == Origin::default(), |origin| expected.covers(origin))
    };
    let beyond = |after| {
        let position = (row.created_at, row.id);
        if page.newest_first { position < after } else { position > after }
    };
    (filter.states.is_empty() || filter.states.contains(&row.state))
        && filter.origin.as_ref().is_none_or(origin)
        && page.after.is_none_or(beyond)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::migrate::migrate;
    use super::*;
    use crate::clock::Timestamp;
    use crate::ids::JobId;

    #[rstest]
    fn a_list_is_never_sorted(
        #[values(&[], &[State::Running], &[State::Pending, State::Failed])] states: &[State],
        #[values(None, Some((Timestamp(1), JobId(uuid::Uuid::nil()))))] after: Option<(Timestamp, JobId)>,
        #[values(true, false)] newest_first: bool,
    ) {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection).unwrap();
        let statement = statement(states, &Origin::default(), &Page { after, limit: 1, newest_first });
        let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {statement}")).unwrap();
        let count = explain.parameter_count();
        let plan: Vec<String> = explain
            .query_map(rusqlite::params_from_iter(vec![0; count]), |row| row.get(3))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        assert!(plan.iter().all(|line| !line.contains("TEMP B-TREE")), "{plan:#?}");
        assert!(plan.iter().any(|line| line.contains("jobs_list")), "{plan:#?}");
    }
}
