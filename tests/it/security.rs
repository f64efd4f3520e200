//! Kafka and ClickHouse behind TLS, with credentials: the files that `docs/security.md` shows, given to the real binary.

use std::{
    fs,
    sync::{Arc, Mutex, Weak},
    thread,
    time::{Duration, Instant},
};

use openssl::{
    ssl::{SslAcceptor, SslMethod},
    symm::Cipher,
};

use crate::{
    broker::{self, Broker},
    certificates::Authority,
    interposer::Interposer,
    process::Ingest,
    run::{CAUGHT_UP, Rows, rows},
    support::{self, Database},
    topic::Topic,
};

const DOCUMENTED: &str = include_str!("../../docs/security.md");
const RECORDS: u64 = 400;
const PASSWORD: &str = "swordfish-0815";
const WRONG_PASSWORD: &str = "sturgeon-4711";
const WAITS_FOR_KAFKA: &str = "waiting for Kafka at ";

/// A broker with a listener for each way of protection, and beside its own files those of its clients.
struct Secured {
    broker: Broker,
    tls: String,
    mutual: String,
    scram: String,
}

impl Secured {
    /// The broker that tests which run at the same time have together.
    fn shared() -> Arc<Self> {
        static SHARED: Mutex<Weak<Secured>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().expect("a broker that started");
        shared.upgrade().unwrap_or_else(|| {
            let new = Arc::new(Self::start());
            *shared = Arc::downgrade(&new);
            new
        })
    }

    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |file: &str, text: &[u8]| fs::write(folder.path().join(file), text).expect("written");
        let authority = Authority::new("kafka-ca");
        let (server, client) = (authority.issue("server"), authority.issue("client"));
        let both = [server.key.private_key_to_pem_pkcs8(), server.certificate.to_pem()].map(|pem| pem.expect("PEM"));
        let key = client.key.private_key_to_pem_pkcs8_passphrase(Cipher::aes_256_cbc(), PASSWORD.as_bytes());
        write("kafka-ca.pem", &authority.pem());
        write("other-ca.pem", &Authority::new("other-ca").pem());
        write("server.pem", &both.concat());
        write("client.pem", &client.certificate.to_pem().expect("PEM"));
        write("client.key", &key.expect("PEM"));
        let properties = format!(
            "ssl.keystore.type=PEM\nssl.keystore.location={folder}/server.pem\n\
             ssl.truststore.type=PEM\nssl.truststore.location={folder}/kafka-ca.pem\n\
             listener.name.mutual.ssl.client.auth=required\n\
             listener.name.scram.sasl.enabled.mechanisms=SCRAM-SHA-512\n\
             listener.name.scram.scram-sha-512.sasl.jaas.config=\
             org.apache.kafka.common.security.scram.ScramLoginModule required;\n",
            folder = folder.path().display()
        );
        let [clear, tls, mutual, scram] = std::array::from_fn(|_| broker::free());
        let listeners = [
            ("CLEAR", "PLAINTEXT", clear.as_str()),
            ("TLS", "SSL", &tls),
            ("MUTUAL", "SSL", &mutual),
            ("SCRAM", "SASL_SSL", &scram),
        ];
        let account = format!("SCRAM-SHA-512=[name=ingest,password={PASSWORD}]");
        let broker = Broker::launch(folder, &listeners, &properties, &["--add-scram", &account]);
        Self { broker, tls, mutual, scram }
    }

    /// What is documented under a heading, of this broker.
    fn example(&self, heading: &str) -> String {
        example(heading, &self.broker.path(""))
    }

    /// Records in a topic of its own, and a process that is to take them by an address with a configuration.
    async fn attempt(&self, name: &str, brokers: &str, configuration: &str, arguments: &[&str]) -> Attempt {
        let database = Database::new(name).await;
        let topic = Topic::on(self.broker.address.clone(), &database.name, 2).await;
        let file = self.broker.path(&format!("{}.toml", database.name));
        Attempt::start(database, topic, (&file, configuration), arguments, &[("KAFKA_BROKERS", brokers)])
    }
}

/// What is documented under a heading, with this folder and password.
fn example(heading: &str, folder: &str) -> String {
    let example =
        || DOCUMENTED.split_once(&format!("\n## {heading}\n"))?.1.split_once("```toml\n")?.1.split_once("```");
    let (text, _) = example().unwrap_or_else(|| panic!("{heading} is not documented"));
    text.replace("/etc/xtcp-ingest", folder.trim_end_matches('/')).replace("the password", PASSWORD)
}

/// The configuration without the lines of a property.
fn without(configuration: &str, property: &str) -> String {
    let mut lines: Vec<_> = configuration.lines().collect();
    let before = lines.len();
    lines.retain(|line| !line.contains(property));
    assert_eq!(lines.len(), before - 1, "{property} in {configuration}");
    lines.join("\n")
}

/// A process and what it is to take where.
struct Attempt {
    database: Database,
    topic: Topic,
    ingest: Ingest,
}

impl Attempt {
    fn start(
        database: Database,
        topic: Topic,
        (file, configuration): (&str, &str),
        arguments: &[&str],
        settings: &[(&str, &str)],
    ) -> Self {
        topic.send_records(2, 0..RECORDS);
        fs::write(file, configuration).expect("written");
        let arguments = [&["--config", file], arguments].concat();
        let ingest = Ingest::start(&database, &topic, &arguments, &[&[("LOG", "debug")], settings].concat());
        Self { database, topic, ingest }
    }

    /// All of it lands once, is committed, and nothing is worth a warning.
    async fn lands(mut self) {
        assert_eq!(self.ingest.exit_code(), Some(0), "{}", self.ingest.log());
        assert_eq!(rows(&self.database, 2).await, Rows { rows: RECORDS, distinct: RECORDS });
        assert_eq!(u64::try_from(self.topic.total_committed()), Ok(RECORDS));
        assert_eq!(self.ingest.lines("WARN", "") + self.ingest.lines("ERROR", ""), 0, "{}", self.ingest.log());
        self.keeps_secrets();
    }

    /// It waits, says why in the log and to whoever asks, and touches nothing.
    async fn waits(mut self, service: &str, reasons: &[&str]) {
        let holds_all = |text: &str| reasons.iter().all(|reason| text.contains(reason));
        let says = |line: &str| line.contains(" WARN ") && line.contains(service) && holds_all(line);
        self.ingest.wait_until(&format!("{reasons:?}"), |ingest| ingest.log().lines().any(says));
        // Told a moment after the line.
        let begin = Instant::now();
        loop {
            let (status, body) = self.ingest.get("/readyz");
            if status == 503 && holds_all(&body) {
                break;
            }
            assert!(begin.elapsed() < Duration::from_secs(10), "{status} {body}");
            thread::sleep(Duration::from_millis(50));
        }
        self.ingest.signal("TERM");
        assert_eq!(self.ingest.exit_code(), Some(0), "{}", self.ingest.log());
        self.touched_nothing().await;
    }

    /// It refuses to start, says why, and touches nothing.
    async fn refuses(mut self, reason: &str) {
        assert_eq!(self.ingest.exit_code(), Some(2), "{}", self.ingest.log());
        let log = self.ingest.log();
        assert!(log.lines().any(|line| line.starts_with("error: ") && line.contains(reason)), "{reason}: {log}");
        self.touched_nothing().await;
    }

    async fn touched_nothing(&self) {
        assert_eq!(self.database.count("system.tables WHERE database = '{db}'").await, 0);
        assert_eq!(self.topic.total_committed(), 0);
        self.keeps_secrets();
    }

    fn keeps_secrets(&self) {
        let log = self.ingest.log();
        assert!([PASSWORD, WRONG_PASSWORD].iter().all(|secret| !log.contains(secret)), "{log}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_is_trusted_for_the_ca_that_is_named_and_its_own_address() {
    let secured = Secured::shared();
    let good = secured.example("Kafka with a CA of your own");
    let absent = without(&good, "ssl.ca.location");
    let other = good.replace("kafka-ca.pem", "other-ca.pem");
    let forgotten = without(&good, "security.protocol");
    let nowhere = good.replace("kafka-ca.pem", "nowhere.pem");
    let local = secured.tls.replace("127.0.0.1", "localhost");

    let absent = secured.attempt("no_ca", &secured.tls, &absent, &[]).await;
    let other = secured.attempt("other_ca", &secured.tls, &other, &[]).await;
    let local = secured.attempt("other_host", &local, &good, &[]).await;
    let forgotten = secured.attempt("no_protocol", &secured.tls, &forgotten, &[]).await;
    let nowhere = secured.attempt("nowhere_ca", &secured.tls, &nowhere, &[]).await;
    secured.attempt("own_ca", &secured.tls, &good, CAUGHT_UP).await.lands().await;
    let distrust = [
        "certificate verify failed",
        "check `ssl.ca.location`, and that the broker's certificate is for the host of `kafka.brokers`",
    ];
    absent.waits(WAITS_FOR_KAFKA, &distrust).await;
    other.waits(WAITS_FOR_KAFKA, &distrust).await;
    local.waits(WAITS_FOR_KAFKA, &distrust).await;
    nowhere.refuses("ssl.ca.location failed").await;
    let ignored = "`ssl.ca.location` has no effect: `security.protocol` is `plaintext`";
    assert_eq!(forgotten.ingest.lines("WARN", ignored), 1, "{}", forgotten.ingest.log());
    forgotten.waits(WAITS_FOR_KAFKA, &["Disconnected", "A wrong `security.protocol`"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_certificate_lets_in_and_none_does_not() {
    let secured = Secured::shared();
    let good = secured.example("Kafka that asks for a client certificate");
    let none = secured.example("Kafka with a CA of your own");
    let locked = good.replace(PASSWORD, WRONG_PASSWORD);

    let none = secured.attempt("no_client", &secured.mutual, &none, &[]).await;
    let locked = secured.attempt("locked_client", &secured.mutual, &locked, &[]).await;
    secured.attempt("client", &secured.mutual, &good, CAUGHT_UP).await.lands().await;
    none.waits(WAITS_FOR_KAFKA, &["SSL alert number", "Check `ssl.certificate.location` and `ssl.key.location`"]).await;
    locked.refuses("ssl.key.location failed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn scram_lets_in_with_the_password_alone() {
    let secured = Secured::shared();
    let good = secured.example("Kafka with SCRAM");
    let wrong = good.replace(PASSWORD, WRONG_PASSWORD);
    let unsent = good.replace("sasl_ssl", "ssl");

    let wrong = secured.attempt("wrong_scram", &secured.scram, &wrong, &[]).await;
    let unsent = secured.attempt("unsent_scram", &secured.scram, &unsent, &[]).await;
    secured.attempt("scram", &secured.scram, &good, CAUGHT_UP).await.lands().await;
    let check = "check `sasl.mechanism`, `sasl.username` and `sasl.password`";
    wrong.waits(WAITS_FOR_KAFKA, &["SCRAM-SHA-512", check]).await;
    let ignored = "`sasl.mechanism`, `sasl.password`, `sasl.username` has no effect: `security.protocol` is `ssl`";
    assert_eq!(unsent.ingest.lines("WARN", ignored), 1, "{}", unsent.ingest.log());
    unsent.waits(WAITS_FOR_KAFKA, &["Disconnected", "A wrong `security.protocol`"]).await;
}

/// Before the server of all tests, with a certificate of this authority.
fn behind_tls(authority: &Authority) -> Interposer {
    let server = authority.issue("clickhouse");
    let mut acceptor = SslAcceptor::mozilla_intermediate_v5(SslMethod::tls()).expect("an acceptor");
    acceptor.set_private_key(&server.key).expect("a key");
    acceptor.set_certificate(&server.certificate).expect("a certificate");
    Interposer::with_tls(acceptor.build())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_of_clickhouse_is_trusted_for_the_ca_that_is_named_and_its_own_address() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |file: &str| folder.path().join(file).display().to_string();
    let authority = Authority::new("clickhouse-ca");
    let server = behind_tls(&authority);
    for (file, text) in [
        ("clickhouse-ca.pem", authority.pem()),
        ("other-ca.pem", Authority::new("other-ca").pem()),
        ("no-ca.pem", b"no certificate\n".to_vec()),
        // The account of all tests has the password that the environment names, and mostly none.
        ("clickhouse-password", support::clickhouse("x").password.reveal().as_bytes().to_vec()),
        ("wrong-password", WRONG_PASSWORD.into()),
    ] {
        fs::write(folder.path().join(file), text).expect("written");
    }
    let good = example("ClickHouse over https", &path(""));
    let attempt = async |name: &str, url: &str, configuration: &str, arguments: &[&str]| {
        let (database, topic) = support::bench(name, 2).await;
        let file = path(&format!("{name}.toml"));
        let settings = [("CLICKHOUSE_URL", url), ("CLICKHOUSE_PASSWORD", "")];
        Attempt::start(database, topic, (&file, configuration), arguments, &settings)
    };

    let absent = attempt("https_no_ca", &server.url, &without(&good, "ca_file"), &[]).await;
    let other = good.replace("clickhouse-ca.pem", "other-ca.pem");
    let other = attempt("https_other_ca", &server.url, &other, &[]).await;
    let local = attempt("https_host", &server.url.replace("127.0.0.1", "localhost"), &good, &[]).await;
    let wrong = good.replace("clickhouse-password", "wrong-password");
    let wrong = attempt("https_password", &server.url, &wrong, &[]).await;
    let empty = good.replace("clickhouse-ca.pem", "no-ca.pem");
    let empty = attempt("https_empty", &server.url, &empty, &[]).await;
    attempt("https", &server.url, &good, CAUGHT_UP).await.lands().await;
    let distrust = ["certificate verify failed", "from a CA that `clickhouse.ca_file` holds"];
    for distrusting in [absent, other, local] {
        distrusting.waits("waiting for ClickHouse at ", &distrust).await;
    }
    wrong.refuses("check `clickhouse.user` and `clickhouse.password`").await;
    empty.refuses("no-ca.pem`, holds no certificate in PEM form").await;
}
