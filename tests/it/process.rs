//! The command itself, run as a process.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{Child, Command, ExitStatus, Output, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{
    support::{self, Database},
    topic::Topic,
};

/// Sends a fleet into a topic and gives what the command says of it.
pub fn generate(topic: &str, arguments: &[&str]) -> Value {
    let output = generate_command(topic, arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// As [`generate`], however it ends.
pub fn generate_command(topic: &str, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtcp-ingest"))
        .args(["generate", "--json", "--kafka-topic", topic])
        .args(arguments)
        .env_clear()
        .env("XTCP_INGEST_KAFKA_BROKERS", support::kafka_brokers())
        .output()
        .expect("the command starts")
}

/// A running `xtcp-ingest run`. Killed when dropped.
pub struct Ingest {
    child: Child,
    log: Arc<Mutex<String>>,
}

impl Ingest {
    /// Starts it on a database and a topic, with further settings by the name of their variable, prefix left out.
    pub fn start(database: &Database, topic: &Topic, arguments: &[&str], settings: &[(&str, &str)]) -> Self {
        let clickhouse = support::clickhouse(&database.name);
        let mut command = Command::new(env!("CARGO_BIN_EXE_xtcp-ingest"));
        command.arg("run").args(arguments).env_clear().stderr(Stdio::piped());
        for (name, value) in [
            ("KAFKA_BROKERS", support::kafka_brokers().as_str()),
            ("KAFKA_TOPIC", &topic.name),
            ("KAFKA_GROUP", &topic.name),
            ("CLICKHOUSE_URL", clickhouse.urls[0].as_str()),
            ("CLICKHOUSE_DATABASE", &clickhouse.database),
            ("CLICKHOUSE_USER", &clickhouse.user),
            ("CLICKHOUSE_PASSWORD", clickhouse.password.reveal()),
            ("HTTP_LISTEN", "127.0.0.1:0"),
            ("BATCH_AGE", "200ms"),
            ("PLATFORM", "single"),
            ("RETENTION_DAYS", "0"),
            ("ERRORS_RETENTION_DAYS", "0"),
        ]
        .iter()
        .chain(settings)
        {
            command.env(format!("XTCP_INGEST_{name}"), value);
        }
        let mut child = command.spawn().expect("the command starts");
        let log = Arc::new(Mutex::new(String::new()));
        let (lines, stderr) = (log.clone(), child.stderr.take().expect("piped"));
        thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let mut log = lines.lock().expect("alive");
                log.push_str(&line);
                log.push('\n');
            }
        });
        Self { child, log }
    }

    /// What it wrote to standard error so far.
    pub fn log(&self) -> String {
        self.log.lock().expect("alive").clone()
    }

    /// Log lines of that level which hold that text. That a test made its topic otherwise than declared is not counted.
    pub fn lines(&self, level: &str, text: &str) -> usize {
        let counted = |line: &&str| line.contains(&format!(" {level} ")) && !line.contains(" WARN topic ");
        self.log().lines().filter(counted).filter(|line| line.contains(text)).count()
    }

    /// Waits until the log holds a text.
    pub fn wait_for_log(&mut self, text: &str) {
        self.wait_until(&format!("`{text}` in the log"), |ingest| ingest.log().contains(text));
    }

    /// Waits for a condition; fails if the process ends before.
    pub fn wait_until(&mut self, what: &str, mut condition: impl FnMut(&Self) -> bool) {
        let begin = Instant::now();
        while !condition(self) {
            assert!(begin.elapsed() < Duration::from_secs(60), "not in time: {what}\n{}", self.log());
            if let Some(status) = self.child.try_wait().expect("a child") {
                assert!(condition(self), "{status} before: {what}\n{}", self.log());
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Sends a signal.
    pub fn signal(&self, name: &str) {
        let status = Command::new("sh").args(["-c", &format!("kill -{name} {}", self.child.id())]).status();
        assert!(status.expect("a shell").success());
    }

    /// Waits for the end, and fails if that takes longer than a minute.
    pub fn wait(&mut self) -> ExitStatus {
        self.wait_within(Duration::from_secs(60))
    }

    /// Waits for the end.
    pub fn wait_within(&mut self, patience: Duration) -> ExitStatus {
        let begin = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                // The last lines are on their way.
                thread::sleep(Duration::from_millis(50));
                return status;
            }
            assert!(begin.elapsed() < patience, "it didn't end within {patience:?}\n{}", self.log());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// The exit code, of an end within a minute.
    pub fn exit_code(&mut self) -> Option<i32> {
        self.wait().code()
    }

    /// Status and body of a path of its HTTP surface.
    pub fn get(&mut self, path: &str) -> (u16, String) {
        self.wait_for_log("HTTP surface");
        let log = self.log();
        let address = log.split("address=").nth(1).and_then(|rest| rest.split_whitespace().next()).expect("an address");
        let mut stream = TcpStream::connect(address).expect("it listens");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        (status, answer.split_once("\r\n\r\n").expect("a body").1.to_owned())
    }

    /// The value of a metric.
    pub fn metric(&mut self, series: &str) -> Option<f64> {
        let (_, scrape) = self.get("/metrics");
        scrape.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' ')?.parse().ok())
    }
}

impl Drop for Ingest {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if thread::panicking() {
            eprintln!("--- the process said:\n{}", self.log());
        }
    }
}
