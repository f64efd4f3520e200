//! The client against a server that answers as it is told: what counts as success, what is sent, what never shows.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant},
};

use bytes::Bytes;

use super::*;
use crate::config::{self, Secret};

/// What the server does with one connection after another.
#[derive(Clone)]
enum Act {
    /// Reads a request, writes this, closes.
    Say(String),
    /// Reads a request, says nothing, keeps the connection.
    Hang,
}

/// A server on a port of its own, and the requests that it read.
fn server(acts: Vec<Act>) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address").to_string();
    let (sent, requests) = mpsc::channel();
    thread::spawn(move || {
        let mut open = Vec::new();
        for act in acts {
            let Ok((mut stream, _)) = listener.accept() else { return };
            let _ = sent.send(read_request(&mut stream));
            match act {
                Act::Say(reply) => stream.write_all(reply.as_bytes()).expect("the client listens"),
                Act::Hang => open.push(stream),
            }
        }
        thread::sleep(Duration::from_secs(5));
    });
    (address, requests)
}

fn read_request(stream: &mut TcpStream) -> String {
    let (mut read, mut chunk) = (Vec::new(), [0; 4096]);
    loop {
        let n = stream.read(&mut chunk).expect("a request");
        read.extend_from_slice(&chunk[..n]);
        let text = String::from_utf8_lossy(&read);
        if n == 0 {
            return text.into_owned();
        }
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|l| l.to_lowercase().strip_prefix("content-length: ").map(str::to_owned));
        if body.len() >= length.map_or(0, |l| l.parse().expect("a length")) {
            return text.into_owned();
        }
    }
}

fn reply(status: &str, headers: &str, body: &str) -> Act {
    let length = body.len();
    Act::Say(format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}"))
}

fn config(url: &str) -> config::ClickHouse {
    config::ClickHouse {
        urls: url.split(',').map(|url| url.parse().expect("a URL")).collect(),
        database: "d`b".to_owned(),
        user: "someone".to_owned(),
        password: Secret::new("hunter2"),
        ca: None,
        insert_timeout: Duration::from_millis(300),
        writers: 1,
        insert_settings: [("insert_quorum", "2"), ("async_insert", "1"), ("max_threads", "3")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
    }
}

fn client(address: &str) -> Client {
    Client::new(&config(&format!("http://{address}"))).expect("a client")
}

fn insert(body: &Bytes) -> Insert<'_> {
    Insert { table: "t", columns: &["a", "b c"], body, settings: &[("max_threads", "5")] }
}

#[tokio::test]
async fn an_insert_sends_its_statement_settings_and_body() {
    let (address, requests) = server(vec![reply("200 OK", "", "")]);
    client(&address).insert(&insert(&Bytes::from_static(b"BLOCK"))).await.expect("acknowledged");
    let request = requests.recv().expect("a request");
    let (head, body) = request.split_once("\r\n\r\n").expect("head and body");
    assert_eq!(body, "BLOCK");
    let first = head.lines().next().expect("a request line");
    let url: url::Url = format!("http://h{}", first.split(' ').nth(1).expect("a path")).parse().expect("a URL");
    let mut arguments: Vec<(String, String)> = url.query_pairs().into_owned().collect();
    arguments.sort();
    let expected = [
        ("async_insert", "0"),
        ("decompress", "1"),
        ("deduplicate_blocks_in_dependent_materialized_views", "1"),
        ("http_write_exception_in_output_format", "0"),
        ("input_format_native_allow_types_conversion", "0"),
        ("insert_deduplicate", "1"),
        ("insert_quorum", "2"),
        ("max_insert_block_size", "1000000000"),
        ("max_threads", "5"),
        ("min_insert_block_size_bytes", "0"),
        ("min_insert_block_size_rows", "1000000000"),
        ("query", "INSERT INTO `d\\`b`.`t` (`a`, `b c`) FORMAT Native"),
        ("wait_end_of_query", "1"),
    ];
    assert_eq!(arguments.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect::<Vec<_>>(), expected);
    assert!(first.starts_with("POST "), "{first}");
    let head = head.to_lowercase();
    assert!(head.contains("x-clickhouse-user: someone") && head.contains("x-clickhouse-key: hunter2"), "{head}");
}

#[tokio::test]
async fn a_guarded_body_is_sent_whole_or_broken_off() {
    let body = Bytes::from(vec![b'x'; 300_000]);
    let (address, requests) = server(vec![reply("200 OK", "", "")]);
    let guard: Guard = std::sync::Arc::new(|| true);
    client(&address).insert_guarded(&insert(&body), guard).await.expect("acknowledged");
    let request = requests.recv().expect("a request");
    assert!(request.to_lowercase().contains("content-length: 300000"), "its end has to be known beforehand");
    assert_eq!(request.split_once("\r\n\r\n").expect("head and body").1.len(), 300_000);

    // The guard changes its mind in the middle.
    let (address, requests) = server(vec![Act::Hang]);
    let asked = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let guard: Guard = std::sync::Arc::new(move || asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst) < 2);
    let error = client(&address).insert_guarded(&insert(&body), guard).await.expect_err("broken off");
    assert!(error.to_string().contains("broken off"), "{error}");
    let request = requests.recv_timeout(Duration::from_secs(5)).expect("the server's end of it");
    assert!(request.split_once("\r\n\r\n").is_none_or(|(_, body)| body.len() < 300_000), "no whole body came");
}

#[tokio::test]
async fn nothing_but_a_clean_200_is_success() {
    let code = "X-ClickHouse-Exception-Code: 252\r\n";
    let broken = Act::Say("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf".to_owned());
    let chunked = Act::Say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n".to_owned());
    let late = "\r\n__exception__\r\ntag\r\nCode: 252. DB::Exception: late\n30 tag\r\n__exception__\r\n";
    for (what, act, expected) in [
        ("a refusal", reply("500 Internal Server Error", code, "Code: 252. x"), Some(252)),
        ("a code behind 200", reply("200 OK", code, "Code: 252. x"), Some(252)),
        ("an exception at the end", reply("200 OK", "X-ClickHouse-Exception-Tag: tag\r\n", late), None),
        ("a body where none belongs", reply("200 OK", "", "Code: 252. DB::Exception: x"), None),
        ("a body cut short", broken, None),
        ("chunks without an end", chunked, None),
        ("no content", reply("204 No Content", "", ""), None),
        ("a redirect", reply("302 Found", "Location: /elsewhere\r\n", ""), None),
        ("a proxy", reply("502 Bad Gateway", "", "<html>"), None),
        ("a code that is none", reply("500 Oops", "X-ClickHouse-Exception-Code: x\r\n", ""), None),
        ("no HTTP", Act::Say("hello\r\n".to_owned()), None),
        ("a connection closed in silence", Act::Say(String::new()), None),
    ] {
        let (address, _requests) = server(vec![act]);
        let error = client(&address).insert(&insert(&Bytes::from_static(b"B"))).await.expect_err(what);
        assert_eq!((error.code(), error.is_retryable()), (expected, true), "{what}: {error}");
        assert!(error.to_string().contains(&address), "{what}: {error}");
    }
}

#[tokio::test]
async fn queries_and_statements_see_a_late_exception_too() {
    let late = "{\"a\":1}\n\r\n__exception__\r\ntag\r\nCode: 241. DB::Exception: late\n30 tag\r\n__exception__\r\n";
    let (address, _requests) = server(vec![reply("200 OK", "", late), reply("200 OK", "", late)]);
    let client = client(&address);
    assert!(client.query::<serde_json::Value>("SELECT 1 AS a", &[]).await.is_err());
    assert!(client.execute("SYSTEM SOMETHING", &[]).await.is_err());
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up_in_time() {
    let (address, _requests) = server(vec![Act::Hang]);
    let start = Instant::now();
    let error = client(&address).insert(&insert(&Bytes::from_static(b"B"))).await.expect_err("no reply");
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    assert!(error.is_retryable() && error.is_outcome_unknown(), "{error}");
    assert!(error.to_string().contains("no reply within 0.3 s"), "{error}");
}

#[tokio::test]
async fn a_refused_connection_sent_nothing() {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").to_string();
    let error = client(&free).ping().await.expect_err("nobody listens");
    assert!(error.is_retryable() && !error.is_outcome_unknown(), "{error}");
    assert!(error.to_string().contains("refused"), "{error}");
}

#[tokio::test]
async fn a_ping_wants_its_answer() {
    let (address, _requests) = server(vec![reply("200 OK", "", "1\n"), reply("200 OK", "", "<html>welcome</html>")]);
    let client = client(&address);
    client.ping().await.expect("the answer");
    let error = client.ping().await.expect_err("some other server");
    assert!(error.to_string().contains("welcome") && error.is_retryable(), "{error}");
}

#[tokio::test]
async fn rows_come_in_the_form_asked_for() {
    #[derive(serde::Deserialize, Debug, PartialEq)]
    struct Row {
        a: u64,
        b: String,
    }
    let rows = "{\"a\":18446744073709551615,\"b\":\"x\\ny\"}\n{\"a\":1,\"b\":\"\"}\n";
    let (address, requests) = server(vec![reply("200 OK", "", rows), reply("200 OK", "", "{\"a\":\"no\"}\n")]);
    let client = client(&address);
    let read: Vec<Row> = client.query("SELECT {x:String}", &[("x", "a b\t")]).await.expect("rows");
    assert_eq!(read, [Row { a: u64::MAX, b: "x\ny".into() }, Row { a: 1, b: String::new() }]);
    let request = requests.recv().expect("a request");
    assert!(request.contains("param_x=a+b%5Ct") && request.ends_with("SELECT {x:String}"), "{request}");
    let error = client.query::<Row>("SELECT 2", &[]).await.expect_err("another form");
    assert!(error.to_string().contains("unexpected reply") && error.code().is_none(), "{error}");
}

#[tokio::test]
async fn a_password_shows_nowhere() {
    let mut config = config("http://root:hunter3@127.0.0.1:1/");
    let client = Client::new(&config).expect("a client");
    let error = client.ping().await.expect_err("port 1 is closed");
    for text in [format!("{config:?}"), format!("{client:?}"), format!("{error:?}"), error.to_string()] {
        assert!(!text.contains("hunter2"), "{text}");
    }
    for text in [format!("{client:?}"), format!("{error:?}"), error.to_string()] {
        assert!(!text.contains("hunter3"), "{text}");
    }
    config.password = Secret::new("hun\nter4");
    let error = Client::new(&config).expect_err("a header has no line end");
    assert!(error.is_fatal() && error.to_string().contains("`clickhouse.password` holds a character"), "{error}");
    assert!(!format!("{error:?}{error}").contains("ter4"), "{error}");
}

#[tokio::test]
async fn another_server_takes_over_and_the_first_is_asked_no_more() {
    let gone = TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr().expect("an address");
    let (other, requests) = server(vec![reply("200 OK", "", "1"); 4]);
    let client = Client::new(&config(&format!("http://{gone},http://{other}"))).expect("a client");
    assert_eq!(client.host(), format!("{gone},{other}"));
    let failed = client.ping().await.expect_err("nobody is there");
    assert!(failed.is_away() && failed.to_string().contains(&gone.to_string()), "{failed}");
    for _ in 0..3 {
        client.ping().await.expect("the other server answers");
    }
    assert_eq!(requests.try_iter().count(), 3);
}

#[tokio::test]
async fn a_look_finds_the_server_that_answers_and_leaves_the_silent_one() {
    let gone = TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr().expect("an address");
    let (silent, unanswered) = server(vec![Act::Hang; 4]);
    let (other, requests) = server(vec![reply("200 OK", "", "1"); 3]);
    let client = Client::new(&config(&format!("http://{gone},http://{silent},http://{other}"))).expect("a client");
    client.look(Duration::from_millis(150)).await.expect("one of them answers");
    assert_eq!((unanswered.try_iter().count().min(1), requests.try_iter().count()), (1, 1));

    let nobody = Client::new(&config(&format!("http://{gone},http://{gone}"))).expect("a client");
    let error = nobody.look(Duration::from_millis(150)).await.expect_err("nobody is there");
    assert!(error.is_away() && !error.is_unanswered(), "{error}");

    let (refusing, asked) = server(vec![reply("403 Forbidden", "X-ClickHouse-Exception-Code: 516\r\n", "no"); 2]);
    let refused = Client::new(&config(&format!("http://{refusing},http://{other}"))).expect("a client");
    assert_eq!(refused.look(Duration::from_secs(1)).await.expect_err("refused").code(), Some(516));
    assert_eq!((asked.try_iter().count(), requests.try_iter().count()), (1, 0), "credentials are the same everywhere");
}

#[tokio::test]
async fn a_server_that_refuses_a_statement_is_not_away() {
    let (first, requests) = server(vec![reply("500 Error", "X-ClickHouse-Exception-Code: 241\r\n", "memory"); 2]);
    let (other, unasked) = server(vec![]);
    let client = Client::new(&config(&format!("http://{first},http://{other}"))).expect("a client");
    for _ in 0..2 {
        assert_eq!(client.ping().await.expect_err("refused").code(), Some(241));
    }
    assert_eq!((requests.try_iter().count(), unasked.try_iter().count()), (2, 0));
}

#[test]
fn what_every_insert_carries_is_not_to_be_configured() {
    let setting = config::settings::find("clickhouse.insert_settings").expect("a setting");
    for (name, _) in super::insert::SETTINGS {
        let flags = vec![config::flag(setting, "clickhouse-insert-setting", &format!("{name}=1"))];
        let problem = config::load(config::Sources { flags, ..Default::default() }).expect_err(name).to_string();
        assert!(problem.contains(&format!("can't be given an entry `{name}`")), "{problem}");
    }
}
