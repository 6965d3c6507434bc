//! Signing in and out of the dashboard, and who is signed in.

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, CACHE_CONTROL, HeaderValue, SET_COOKIE};
use axum::http::request::Parts;
use axum::response::{AppendHeaders, IntoResponse, Response};
use vmafx_queue::clock::Timestamp;

use super::extract::{Audited, Body};
use super::shape::{Session, SessionCaller, SignIn, rfc3339};
use crate::audit::AuditedCall;
use crate::auth::session_cookie::{self, SessionCookie};
use crate::auth::{Authenticator, bearer, request_origin};
use crate::identity::Role;
use crate::refusal::Refusal;

/// Far more than the longest token that fits into a cookie, because anybody may send it.
pub(super) const MAX_BODY_BYTES: usize = 16 * 1024;

/// Refuses a change that a page of another origin may have caused, before its body is read.
pub(super) struct OwnPage;

impl<S: Sync> FromRequestParts<S> for OwnPage {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        request_origin::check_change(&parts.method, &parts.headers).map(|()| Self)
    }
}

#[derive(Clone)]
pub(super) struct Sessions {
    pub(super) authenticator: Authenticator,
    pub(super) cookie: SessionCookie,
}

/// Responds to a browser without a session too, because the page has to know whether to ask for a token.
pub(super) async fn show(State(sessions): State<Sessions>, headers: HeaderMap) -> Result<Response, Refusal> {
    let token = if headers.contains_key(AUTHORIZATION) {
        bearer::token(&headers).map(str::to_owned)
    } else {
        session_cookie::token(&headers)
    };
    let session = match sessions.of(token.as_deref(), &AuditedCall::default()).await {
        Ok(session) => session,
        Err(Refusal::Unauthenticated | Refusal::Incomplete(_)) => SIGNED_OUT,
        Err(refusal) => return Err(refusal),
    };
    Ok(uncached(session, None))
}

pub(super) async fn sign_in(
    State(sessions): State<Sessions>,
    Audited(call): Audited,
    _: OwnPage,
    Body(SignIn { token }): Body<SignIn>,
) -> Result<Response, Refusal> {
    let token = token.trim();
    let session = sessions.of(Some(token), &call).await?;
    if !session.sign_in_required {
        return Ok(uncached(session, None));
    }
    let authenticator = &sessions.authenticator;
    let age = authenticator.expiry(token).map(|end| end.saturating_sub(authenticator.unix_seconds()).max(0));
    let cookie = sessions.cookie.keep(token, age)?;
    Ok(uncached(session, Some(cookie)))
}

pub(super) async fn sign_out(
    State(sessions): State<Sessions>,
    Audited(call): Audited,
    _: OwnPage,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    if let Some(token) = session_cookie::token(&headers) {
        // For the audit log. A session that has ended already is removed too.
        let _ = sessions.of(Some(&token), &call).await;
    }
    Ok(uncached(SIGNED_OUT, sessions.cookie.remove()))
}

const SIGNED_OUT: Session = Session { sign_in_required: true, caller: None };

impl Sessions {
    async fn of(&self, token: Option<&str>, call: &AuditedCall) -> Result<Session, Refusal> {
        let identity = self.authenticator.authenticate_for(token, None, call).await?;
        let expires_at = token.and_then(|token| self.authenticator.expiry(token));
        let caller = SessionCaller {
            subject: identity.subject,
            tenant: identity.tenant.to_string(),
            roles: identity.roles.iter().map(Role::name).map(str::to_owned).collect(),
            expires_at: expires_at.map(|end| rfc3339(Timestamp(end.saturating_mul(1000)))),
        };
        Ok(Session { sign_in_required: !self.authenticator.accepts_everybody(), caller: Some(caller) })
    }
}

fn uncached(session: Session, cookie: Option<HeaderValue>) -> Response {
    let cookie = AppendHeaders(cookie.map(|cookie| (SET_COOKIE, cookie)));
    ([(CACHE_CONTROL, "no-store")], cookie, Json(session)).into_response()
}
