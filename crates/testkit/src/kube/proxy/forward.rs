//! One request, from its arrival to its answer.

use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, BodyStream, Full, StreamBody};
use hyper::body::Incoming;
use serde_json::json;

use super::Shared;
use super::fault::{Act, Pass};
use super::ledger::Record;
use super::request::{ApiRequest, Verb};
use super::taps::{Cut, WatchTap};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// What a client is sent.
pub(super) type Answer = Response<UnsyncBoxBody<Bytes, BoxError>>;

/// Answers a request. An error ends the connection.
pub(super) async fn answer(shared: &Shared, request: Request<Incoming>) -> Result<Answer, BoxError> {
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let mut record = shared.ledger.arrived(ApiRequest::read(&head, body.clone()));
    let rule = shared.rules.due(&record.request);
    let act = rule.as_ref().map(|rule| rule.act());

    let instead = match act {
        Some(Act::Answer(code)) => Some(*code),
        Some(Act::CutBefore) => return Err(Cut.into()),
        Some(Act::Silence) => std::future::pending().await,
        Some(Act::Hold) => {
            if let Some(rule) = &rule {
                rule.released().await;
            }
            None
        }
        Some(Act::Before(call)) if call(&record) == Pass::Cut => return Err(Cut.into()),
        _ => None,
    };
    if let Some(code) = instead {
        return Ok(told(shared, &mut record, failure(code)));
    }

    let watch = (record.request.verb == Verb::Watch).then(|| shared.taps.watch(&record.request.resource));
    let response = shared.upstream.ask(&head, body).await?;
    record.server = Some(response.status().as_u16());
    shared.ledger.update(&record);

    let response = match act {
        Some(Act::Lose(code)) => failure(*code),
        Some(Act::CutAfter) => return Err(Cut.into()),
        Some(Act::SilenceAfter) => std::future::pending().await,
        Some(Act::After(call)) if call(&record) == Pass::Cut => return Err(Cut.into()),
        _ => match watch {
            Some(tap) => response.map(|body| tapped(body, tap)),
            None => response.map(|body| body.map_err(BoxError::from).boxed_unsync()),
        },
    };
    Ok(told(shared, &mut record, response))
}

fn told(shared: &Shared, record: &mut Record, response: Answer) -> Answer {
    record.client = Some(response.status().as_u16());
    shared.ledger.update(record);
    response
}

/// The events of a watch: held back while its resource is, ended when watches are cut.
fn tapped(body: Incoming, tap: WatchTap) -> UnsyncBoxBody<Bytes, BoxError> {
    let events = stream::unfold(Some((BodyStream::new(body), tap)), |open| async {
        let (mut body, mut tap) = open?;
        let event = tokio::select! {
            cut = tap.cut() => Some(Err(BoxError::from(cut))),
            event = body.next() => event.map(|event| event.map_err(BoxError::from)),
        };
        match (event?, tap.open().await) {
            (Ok(event), Ok(())) => Some((Ok(event), Some((body, tap)))),
            (Err(error), _) => Some((Err(error), None)),
            (Ok(_), Err(cut)) => Some((Err(cut.into()), None)),
        }
    });
    StreamBody::new(events).boxed_unsync()
}

/// How the API server says no.
fn failure(code: u16) -> Answer {
    let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let reason = match code {
        404 => "NotFound",
        409 => "Conflict",
        422 => "Invalid",
        429 => "TooManyRequests",
        503 => "ServiceUnavailable",
        _ => "InternalError",
    };
    let mut body = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "said by the proxy of a test",
        "reason": reason,
        "code": status.as_u16(),
    });
    let busy = status == StatusCode::TOO_MANY_REQUESTS;
    if busy {
        body["details"] = json!({"retryAfterSeconds": 1});
    }
    let body = Full::new(Bytes::from(body.to_string())).map_err(|never| match never {}).boxed_unsync();
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if busy {
        answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    answer
}
