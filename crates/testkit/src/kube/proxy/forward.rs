//! Handling of one request, from its arrival to the response.

use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, BodyStream, Full, StreamBody};
use hyper::body::Incoming;
use serde_json::json;

use super::ProxyState;
use super::controls::{Closed, WatchControl};
use super::fault::{Fault, ResponseHandling};
use super::request::{ApiRequest, RbacVerb};
use super::request_log::RecordedRequest;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

pub(super) type ProxyResponse = Response<UnsyncBoxBody<Bytes, BoxError>>;

/// An error closes the connection.
pub(super) async fn respond(
    shared: &ProxyState,
    request: Request<Incoming>,
) -> Result<ProxyResponse, BoxError> {
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let mut record = shared.log.add(ApiRequest::parse(&head, body.clone()));
    let rule = shared.faults.applicable(&record.request);
    let fault = rule.as_ref().map(|rule| rule.fault());

    match (fault, &rule) {
        (Some(Fault::Respond(code)), _) => return Ok(recorded(shared, &mut record, failure(*code))),
        (Some(Fault::DisconnectBefore), _) => return Err(Closed.into()),
        (Some(Fault::NoResponse), _) => std::future::pending().await,
        (Some(Fault::Hold), Some(rule)) => rule.released().await,
        (Some(Fault::Before(call)), _) if call(&record) == ResponseHandling::Disconnect => {
            return Err(Closed.into());
        }
        _ => {}
    }

    let watch =
        (record.request.verb == RbacVerb::Watch).then(|| shared.controls.watch(&record.request.resource));
    let response = shared.upstream.send(&head, body).await?;
    record.server = Some(response.status().as_u16());
    shared.log.update(&record);

    let response = match fault {
        Some(Fault::FailAfter(code)) => failure(*code),
        Some(Fault::DisconnectAfter) => return Err(Closed.into()),
        Some(Fault::NoResponseAfter) => std::future::pending().await,
        Some(Fault::After(call)) if call(&record) == ResponseHandling::Disconnect => {
            return Err(Closed.into());
        }
        _ => match watch {
            Some(control) => response.map(|body| controlled(body, control)),
            None => response.map(|body| body.map_err(BoxError::from).boxed_unsync()),
        },
    };
    Ok(recorded(shared, &mut record, response))
}

fn recorded(shared: &ProxyState, record: &mut RecordedRequest, response: ProxyResponse) -> ProxyResponse {
    record.client = Some(response.status().as_u16());
    shared.log.update(record);
    response
}

/// The events of a watch: held back while its resource is held, and closed when watches are closed.
fn controlled(body: Incoming, control: WatchControl) -> UnsyncBoxBody<Bytes, BoxError> {
    let events = stream::unfold(Some((BodyStream::new(body), control)), |open| async {
        let (mut body, mut control) = open?;
        let event = tokio::select! {
            closed = control.closed() => Some(Err(BoxError::from(closed))),
            event = body.next() => event.map(|event| event.map_err(BoxError::from)),
        };
        match (event?, control.released().await) {
            (Ok(event), Ok(())) => Some((Ok(event), Some((body, control)))),
            (Err(error), _) => Some((Err(error), None)),
            (Ok(_), Err(closed)) => Some((Err(closed.into()), None)),
        }
    });
    StreamBody::new(events).boxed_unsync()
}

/// An error response in the API server's format.
fn failure(code: u16) -> ProxyResponse {
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
        "message": "injected by the test's proxy",
        "reason": reason,
        "code": status.as_u16(),
    });
    let busy = status == StatusCode::TOO_MANY_REQUESTS;
    if busy {
        body["details"] = json!({"retryAfterSeconds": 1});
    }
    let body = Full::new(Bytes::from(body.to_string())).map_err(|never| match never {}).boxed_unsync();
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if busy {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}
