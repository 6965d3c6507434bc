//! The trainers of all runs: one HTTP server, which tells them apart by their path.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use vmafx_testkit::http_server::{HttpServer, Reply, ReplyBody};

/// A trainer without a reply closes the connection.
pub(crate) struct Trainers {
    server: HttpServer,
    replies: Arc<Mutex<HashMap<String, Reply>>>,
}

impl Trainers {
    pub(crate) fn start() -> Self {
        let replies: Arc<Mutex<HashMap<String, Reply>>> = Arc::default();
        let shared = Arc::clone(&replies);
        let server = HttpServer::start(move |request| {
            let reply = shared.lock().unwrap().get(&request.path).cloned();
            reply.unwrap_or_else(|| Reply::body(ReplyBody::HangUp))
        });
        Self { server, replies }
    }

    /// The value of `VMAFX_OPERATOR_TRAINER_URL`.
    pub(crate) fn url(&self) -> String {
        self.server.url("/{namespace}/{name}")
    }

    pub(crate) fn reply(&self, namespace: &str, name: &str, reply: Reply) {
        self.replies.lock().unwrap().insert(path(namespace, name), reply);
    }

    pub(crate) fn set_report(&self, namespace: &str, name: &str, status: &Value) {
        self.reply(namespace, name, Reply::file(status.to_string()));
    }

    pub(crate) fn poll_count(&self, namespace: &str, name: &str) -> usize {
        self.server.count(&path(namespace, name))
    }
}

fn path(namespace: &str, name: &str) -> String {
    format!("/{namespace}/{name}/status")
}
