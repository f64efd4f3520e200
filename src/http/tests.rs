//! Through a real socket.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::{sync::oneshot, task::JoinHandle, time::timeout};

use super::*;
use crate::telemetry::Telemetry;

struct Running {
    address: SocketAddr,
    telemetry: Arc<Telemetry>,
    health: Arc<Health>,
    end: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

async fn start() -> Running {
    let server = Server::bind(([127, 0, 0, 1], 0).into()).await.expect("a free port");
    let (address, telemetry, health) = (server.address(), Arc::new(Telemetry::new()), Arc::new(Health::default()));
    let (end, ended) = oneshot::channel();
    let run = server.run(Arc::clone(&telemetry), Arc::clone(&health), async move {
        let _ = ended.await;
    });
    Running { address, telemetry, health, end, task: tokio::spawn(run) }
}

impl Running {
    async fn get(&self, path: &str) -> (u16, String) {
        let response = reqwest::get(format!("http://{}{path}", self.address)).await.expect("an answer");
        (response.status().as_u16(), response.text().await.expect("a body"))
    }

    async fn readyz(&self) -> (u16, Value) {
        let (status, body) = self.get("/readyz").await;
        (status, serde_json::from_str(&body).expect("JSON"))
    }
}

#[tokio::test]
async fn readiness_names_each_check_and_cause_and_liveness_never_asks() {
    let running = start().await;
    let (status, body) = running.readyz().await;
    assert_eq!(status, 503);
    assert_eq!(body["checks"]["kafka"], json!({"state": "unknown"}));

    running.health.kafka.ok();
    running.health.schema.ok();
    running.health.clickhouse.fail("127.0.0.1:8123 refuses the connection");
    let (status, body) = running.readyz().await;
    assert_eq!(status, 503);
    assert_eq!(
        body,
        json!({
            "ready": false,
            "checks": {
                "kafka": {"state": "ok"},
                "clickhouse": {"state": "failed", "cause": "127.0.0.1:8123 refuses the connection"},
                "schema": {"state": "ok"},
            },
        })
    );
    assert_eq!(running.get("/livez").await, (200, "ok\n".to_owned()));

    running.health.clickhouse.ok();
    let (status, body) = running.readyz().await;
    assert_eq!((status, &body["ready"]), (200, &json!(true)));
}

#[tokio::test]
async fn metrics_and_version_are_served() {
    let running = start().await;
    running.telemetry.ledger().open().consumed(1, 10, 3);
    let (status, scrape) = running.get("/metrics").await;
    assert_eq!(status, 200);
    assert!(scrape.contains("\nxtcp_ingest_pieces_consumed_total 3\n"), "{scrape}");

    let (status, body) = running.get("/api/v1/system/version").await;
    assert_eq!(status, 200);
    let body: Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!(body, json!({"name": "xtcp-ingest", "version": env!("CARGO_PKG_VERSION"), "schemas": null}));
    assert_eq!(running.get("/nothing").await.0, 404);
}

#[tokio::test]
async fn a_busy_port_is_named() {
    let running = start().await;
    let error = Server::bind(running.address).await.expect_err("it is taken");
    assert_eq!(
        error.to_string(),
        format!("can't serve HTTP on {}: another program listens there; give another `http.listen`", running.address)
    );
}

#[tokio::test]
async fn an_open_connection_does_not_hold_the_end_up() {
    let running = start().await;
    let idle = tokio::net::TcpStream::connect(running.address).await.expect("a connection");
    running.get("/livez").await;
    running.end.send(()).expect("it listens");
    timeout(Duration::from_secs(5), running.task).await.expect("it ends in time").expect("it ends well");
    drop(idle);
}
