//! A minimal HTTP client for pushing.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use crate::hex::hex;

/// `sha256:…`
pub(super) fn digest(content: &[u8]) -> String {
    format!("sha256:{}", hex(&Sha256::digest(content)))
}

/// Sends one request and returns the `Location` header of the response.
pub(super) fn send(
    address: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    login: Option<(&str, &str)>,
    body: &[u8],
) -> io::Result<Option<String>> {
    let mut connection = TcpStream::connect(address)?;
    write!(connection, "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n")?;
    for (name, value) in headers {
        write!(connection, "{name}: {value}\r\n")?;
    }
    if let Some((user, password)) = login {
        write!(connection, "authorization: Basic {}\r\n", STANDARD.encode(format!("{user}:{password}")))?;
    }
    write!(connection, "content-length: {}\r\n\r\n", body.len())?;
    connection.write_all(body)?;
    let mut response = Vec::new();
    connection.read_to_end(&mut response)?;
    let response = String::from_utf8_lossy(&response);
    let mut lines = response.lines();
    let status = lines.next().unwrap_or_default();
    if !status.contains(" 20") {
        return Err(io::Error::other(format!("{method} {path}: {response}")));
    }
    let location = lines.take_while(|line| !line.is_empty()).filter_map(|line| line.split_once(':'));
    let mut location = location.filter(|(name, _)| name.eq_ignore_ascii_case("location"));
    Ok(location.next().map(|(_, value)| value.trim().to_owned()))
}
