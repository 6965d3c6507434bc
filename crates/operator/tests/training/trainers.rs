//! The trainers of all runs: one web server, which knows them apart by their path.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use vmafx_testkit::http_server::{HttpServer, Reply, ReplyBody};

/// What each trainer answers; one of which nothing was said hangs up.
pub(crate) struct Trainers {
    server: HttpServer,
    replies: Arc<Mutex<HashMap<String, Reply>>>,
}

impl Trainers {
    pub(crate) fn start() -> Self {
        let replies: Arc<Mutex<HashMap<String, Reply>>> = Arc::default();
        let known = Arc::clone(&replies);
        let server = HttpServer::start(move |request| {
            let reply = known.lock().unwrap().get(&request.path).cloned();
            reply.unwrap_or_else(|| Reply::body(ReplyBody::HangUp))
        });
        Self { server, replies }
    }

    /// For `VMAFX_OPERATOR_TRAINER_URL`.
    pub(crate) fn url(&self) -> String {
        self.server.url("/{namespace}/{name}")
    }

    pub(crate) fn reply(&self, namespace: &str, name: &str, reply: Reply) {
        self.replies.lock().unwrap().insert(path(namespace, name), reply);
    }

    pub(crate) fn say(&self, namespace: &str, name: &str, status: &Value) {
        self.reply(namespace, name, Reply::file(status.to_string()));
    }

    /// How often one was asked.
    pub(crate) fn asked(&self, namespace: &str, name: &str) -> usize {
        self.server.count(&path(namespace, name))
    }
}

fn path(namespace: &str, name: &str) -> String {
    format!("/{namespace}/{name}/status")
}
