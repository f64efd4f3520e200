//! What is served.

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::State,
    http::{StatusCode, header::CONTENT_TYPE},
    response::IntoResponse,
    routing::get,
};
use serde_json::{Map, json};

use super::{Health, health};
use crate::{bootstrap, telemetry::Telemetry};

/// What the routes look at.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) telemetry: Arc<Telemetry>,
    pub(super) health: Arc<Health>,
}

pub(super) fn routes(seen: Seen) -> Router {
    Router::new()
        .route("/metrics", get(metrics))
        .route("/livez", get(async || "ok\n"))
        .route("/readyz", get(readyz))
        .route("/api/v1/system/version", get(version))
        .route("/api/v1/system/schema", get(schema))
        .with_state(seen)
}

async fn metrics(State(seen): State<Seen>) -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], seen.telemetry.render())
}

async fn readyz(State(seen): State<Seen>) -> impl IntoResponse {
    let checks = seen.health.checks();
    let ready = checks.iter().all(|(_, state)| *state == health::State::Ok);
    let checks: Map<_, _> = checks.into_iter().map(|(name, state)| (name.to_owned(), json!(state))).collect();
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(json!({ "ready": ready, "checks": checks })))
}

async fn version(State(seen): State<Seen>) -> impl IntoResponse {
    let schemas = seen.health.last_pass().map(|pass| pass.schemas_version.clone());
    Json(json!({ "name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION"), "schemas": schemas }))
}

/// The last pass over the schema, object by object.
async fn schema(State(seen): State<Seen>) -> impl IntoResponse {
    let pass = seen.health.last_pass();
    Json(pass.map_or_else(|| json!({ "state": bootstrap::State::Unknown.name(), "ready": false }), |pass| pass.json()))
}
