//! One request: how it is built, and when its reply counts as success.

use std::{fmt, time::Duration};

use bytes::Bytes;
use reqwest::{
    Certificate, Response,
    header::{HeaderMap, HeaderValue},
};

use super::{
    Error,
    error::{Kind, shortened},
    hosts::{Host, Hosts},
    quoted,
};
use crate::config;

/// A server answers a connection attempt at once or not at all.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Whether somebody is there; more than a busy server needs to say so.
const PING_TIMEOUT: Duration = Duration::from_secs(10);
/// Whether a server that was away is there again; an insert waits for the answer.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);
/// Statements and queries on the catalogue; the server itself gives up on DDL after 180 s.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(190);
/// Servers close an idle connection after 3 s by default in older releases, 10 s and more in newer ones. One that we
/// gave up before can't be closed under a request of ours.
const IDLE_TIMEOUT: Duration = Duration::from_millis(2500);
/// Finds a peer that is gone while an insert is under way.
const TCP_KEEPALIVE: Duration = Duration::from_secs(15);

/// What every server answers that takes the account.
const PING: &str = "SELECT 1";

/// How newer servers end a reply whose statement failed after the status line was sent.
const EXCEPTION_AT_THE_END: &[u8] = b"\r\n__exception__\r\n";

/// The server, or several of the same tables, reached by kept-alive connections. Clones share them.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    hosts: Hosts,
    /// All names.
    host: String,
    pub(super) database: String,
    pub(super) insert_timeout: Duration,
    pub(super) insert_settings: Vec<(String, String)>,
}

/// What goes into one request besides the credentials.
pub(super) struct Request<'a> {
    /// What errors show.
    pub statement: &'a str,
    /// URL arguments: the statement if the body isn't it, settings, parameters.
    pub arguments: &'a [(&'a str, &'a str)],
    pub body: reqwest::Body,
    pub timeout: Duration,
}

impl Request<'_> {
    fn ping(timeout: Duration) -> Self {
        Self { statement: PING, arguments: &[], body: PING.into(), timeout }
    }
}

impl Client {
    /// A client of the configured server. Nothing is sent yet.
    ///
    /// # Errors
    /// When user name or password can't stand in a header, the CA's file holds no certificate, or the TLS library can't be
    /// set up.
    pub fn new(config: &config::ClickHouse) -> Result<Self, Error> {
        let hosts = Hosts::new(&config.urls);
        let host = hosts.names();
        let mut headers = HeaderMap::new();
        headers.insert("x-clickhouse-user", secret(&host, "`clickhouse.user`", &config.user)?);
        if !config.password.reveal().is_empty() {
            headers.insert("x-clickhouse-key", secret(&host, "`clickhouse.password`", config.password.reveal())?);
        }
        let mut http = reqwest::Client::builder();
        if let Some(pem) = &config.ca {
            http = http.tls_certs_only(certificates(&host, pem)?);
        }
        let http = http
            .user_agent(concat!("xtcp-ingest/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers)
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_idle_timeout(IDLE_TIMEOUT)
            .tcp_keepalive(TCP_KEEPALIVE)
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .build()
            .map_err(|error| Error::new(&host, "", Kind::Setup(error.to_string())))?;
        let insert_settings =
            config.insert_settings.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        let (database, insert_timeout) = (config.database.clone(), config.insert_timeout);
        Ok(Self { http, hosts, host, database, insert_timeout, insert_settings })
    }

    /// `host:port` of all servers, for messages.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The database of all objects.
    #[must_use]
    pub fn database(&self) -> &str {
        &self.database
    }

    /// The full name of a table of that database, ready to stand in a statement.
    #[must_use]
    pub fn table(&self, name: &str) -> String {
        format!("{}.{}", quoted(&self.database), quoted(name))
    }

    /// Whether the server answers and takes the credentials.
    ///
    /// # Errors
    /// When it doesn't.
    pub async fn ping(&self) -> Result<(), Error> {
        self.pong(&self.send(Request::ping(PING_TIMEOUT)).await?)
    }

    /// Whether one of the servers answers, each within `patience`, and takes the credentials. One that doesn't answer is left
    /// alone for a while, so that no insert has to find out: an insert may take its time, this question may not.
    ///
    /// # Errors
    /// What the last one said that was asked, when none answers, or the first that refuses.
    pub async fn look(&self, patience: Duration) -> Result<(), Error> {
        let mut others = self.hosts.count() - 1;
        loop {
            let host = self.turn().await;
            match self.send_to(host, Request::ping(patience)).await {
                Ok(reply) => {
                    host.is_there();
                    return self.pong(&reply);
                }
                Err(error) if error.is_away() || error.is_unanswered() => {
                    host.is_away();
                    if others == 0 {
                        return Err(error);
                    }
                    others -= 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn pong(&self, reply: &Bytes) -> Result<(), Error> {
        if reply.trim_ascii() == b"1" {
            return Ok(());
        }
        // Something that answers everything with 200 is no ClickHouse.
        Err(self.odd_reply(PING, format!("`{}`", shortened(&String::from_utf8_lossy(reply), 100))))
    }

    /// Runs a statement whose result, if any, is of no interest.
    ///
    /// # Errors
    /// When it fails, or whether it succeeded isn't known.
    pub async fn execute(&self, sql: &str, settings: &[(&str, &str)]) -> Result<(), Error> {
        self.send_statement(sql, settings).await.map(drop)
    }

    pub(super) async fn send_statement(&self, sql: &str, arguments: &[(&str, &str)]) -> Result<Bytes, Error> {
        let body = sql.to_owned().into();
        self.send(Request { statement: sql, arguments, body, timeout: STATEMENT_TIMEOUT }).await
    }

    /// Sends a request and returns the whole body of a reply that is a success beyond doubt.
    pub(super) async fn send(&self, request: Request<'_>) -> Result<Bytes, Error> {
        let host = self.turn().await;
        let sent = self.send_to(host, request).await;
        match &sent {
            Ok(_) => host.is_there(),
            Err(error) if error.is_away() => host.is_away(),
            Err(_) => {}
        }
        sent
    }

    /// The server for the next request.
    async fn turn(&self) -> &Host {
        loop {
            let (host, was_away) = self.hosts.next();
            if !was_away {
                return host;
            }
            // It was away: whether it answers again has to be seen first.
            if self.send_to(host, Request::ping(PROBE_TIMEOUT)).await.is_ok() {
                tracing::info!(host = host.name, "ClickHouse can be reached again");
                host.is_there();
                return host;
            }
            host.is_away();
        }
    }

    async fn send_to(&self, host: &Host, request: Request<'_>) -> Result<Bytes, Error> {
        let Request { statement, arguments, body, timeout } = request;
        let transport = |error| Error::transport(&host.name, statement, error, timeout);
        // The status line is only sent once the statement has ended, so that it tells of its end and not of its start.
        let fixed = [("wait_end_of_query", "1"), ("http_write_exception_in_output_format", "0")];
        let post = self.http.post(host.url.clone()).query(&fixed).query(arguments).timeout(timeout).body(body);
        let response = post.send().await.map_err(transport)?;
        let (status, code) = (response.status(), exception_code(&response));
        let body = response.bytes().await.map_err(transport)?;
        // 200 with a code, or a reply that ends in an exception, is a failure; so is every other status.
        if status.as_u16() == 200 && code.is_none() && !body.ends_with(EXCEPTION_AT_THE_END) {
            return Ok(body);
        }
        Err(Error::refused(&host.name, statement, status.as_u16(), code, &body))
    }

    #[cold]
    pub(super) fn odd_reply(&self, statement: &str, what: String) -> Error {
        Error::new(&self.host, statement, Kind::Reply(what))
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("host", &self.host).field("database", &self.database).finish_non_exhaustive()
    }
}

/// A header value that no log of the HTTP library shows.
fn secret(host: &str, what: &str, text: &str) -> Result<HeaderValue, Error> {
    let fault =
        |_| Error::new(host, "", Kind::Setup(format!("{what} holds a character that no HTTP header can carry")));
    let mut value = HeaderValue::from_bytes(text.as_bytes()).map_err(fault)?;
    value.set_sensitive(true);
    Ok(value)
}

fn certificates(host: &str, pem: &str) -> Result<Vec<Certificate>, Error> {
    let unusable = |cause: &str| {
        Error::new(host, "", Kind::Setup(format!("`clickhouse.ca_file` holds no certificate in PEM form{cause}")))
    };
    match Certificate::from_pem_bundle(pem.as_bytes()) {
        Ok(certificates) if certificates.is_empty() => Err(unusable("")),
        Ok(certificates) => Ok(certificates),
        Err(error) => Err(unusable(&format!(": {error}"))),
    }
}

fn exception_code(response: &Response) -> Option<i32> {
    response.headers().get("x-clickhouse-exception-code")?.to_str().ok()?.trim().parse().ok()
}
