use http::HeaderMap;
use http::header::AUTHORIZATION;

use crate::auth::{bearer, session_cookie};

/// What a request has to authenticate its caller.
pub(super) enum Credential<'a> {
    /// The request has an `Authorization` header; its token, if it is valid.
    Authorization(Option<&'a str>),
    /// The token in the cookie of the dashboard.
    Cookie(String),
    None,
}

impl<'a> Credential<'a> {
    pub(super) fn of_header(headers: &'a HeaderMap) -> Self {
        Self::Authorization(bearer::token(headers))
    }

    /// The cookie counts only without an `Authorization` header, so that a program that sends one is never somebody else.
    pub(super) fn of_request(headers: &'a HeaderMap, accepts_cookies: bool) -> Self {
        if headers.contains_key(AUTHORIZATION) {
            return Self::of_header(headers);
        }
        let cookie = accepts_cookies.then(|| session_cookie::token(headers)).flatten();
        cookie.map_or(Self::None, Self::Cookie)
    }

    pub(super) fn token(&self) -> Option<&str> {
        match self {
            Self::Authorization(token) => *token,
            Self::Cookie(token) => Some(token),
            Self::None => None,
        }
    }
}
