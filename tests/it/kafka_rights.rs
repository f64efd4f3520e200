//! Principals that lack rights, on a broker that asks for them.

use std::time::Duration;

use crate::{broker::Broker, process::Ingest, schema::Operator, topic::Topic};

/// How a principal logs in.
fn login(principal: &str, password: &str) -> Vec<String> {
    let properties = [
        ("security.protocol", "SASL_PLAINTEXT"),
        ("sasl.mechanism", "PLAIN"),
        ("sasl.username", principal),
        ("sasl.password", password),
    ];
    properties.iter().flat_map(|(name, value)| ["--kafka-property".to_owned(), format!("{name}={value}")]).collect()
}

fn apply(operator: &Operator, broker: &Broker, principal: &str, further: &[(&str, &str)]) -> (i32, String, String) {
    schema(operator, broker, "apply", login(principal, principal), further)
}

fn schema(
    operator: &Operator,
    broker: &Broker,
    command: &str,
    login: Vec<String>,
    further: &[(&str, &str)],
) -> (i32, String, String) {
    let arguments: Vec<&str> = [command].into_iter().chain(login.iter().map(String::as_str)).collect();
    let settings = [&[("KAFKA_BROKERS", broker.address.as_str()), ("BOOTSTRAP_WAIT_SECONDS", "5")], further].concat();
    operator.schema(&arguments, &settings)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_principal_needs_create_describe_and_describe_configs_and_no_other_right() {
    let broker = Broker::start(&["none", "half", "whole", "gate"]);
    broker.allow("half", "*", &["Create", "Describe"]);
    broker.allow("whole", "*", &["Create", "Describe", "DescribeConfigs"]);

    // Without any right ClickHouse still converges, and the topic is named with the right.
    let operator = Operator::new("no_rights").await;
    let topic = operator.topic.as_str();
    let (code, out, err) = apply(&operator, &broker, "none", &[]);
    assert!(code == 1 && out.contains(&format!("{} created", crate::content::object_counts().0)), "{code} {out}{err}");
    assert!(err.contains(&format!("can't create topic {topic}")), "{err}");
    assert!(err.contains("the account needs CREATE on the topic, and DESCRIBE to see it"), "{err}");

    // A password that is not taken is told from a broker that is away.
    let (code, _, err) = schema(&operator, &broker, "apply", login("whole", "not this"), &[]);
    assert!(code == 1 && err.contains("check `sasl.mechanism`, `sasl.username` and `sasl.password`"), "{code} {err}");

    // What can't be compared is never taken for equal.
    let (code, out, err) = apply(&operator, &broker, "half", &[]);
    assert!(code == 0 && out.contains("1 created"), "{code} {out}{err}");
    let (code, out, _) = schema(&operator, &broker, "plan", login("half", "half"), &[]);
    let unknown = format!("topic {topic}: drift unknown, its shape can't be read");
    assert!(code == 0 && out.contains(&unknown) && out.contains("the account needs DESCRIBE_CONFIGS"), "{code} {out}");
    let (code, out, _) = schema(&operator, &broker, "plan", login("whole", "whole"), &[]);
    assert!(code == 0 && !out.contains(&format!("topic {topic}:")), "{code} {out}");

    // A dead-letter topic that the principal may not create holds the pass up to the end of its wait.
    let (landing, dead) = (format!("{topic}_landing"), format!("{topic}_dead"));
    broker.allow("gate", &landing, &["Create", "Describe", "DescribeConfigs"]);
    let further = [("KAFKA_TOPIC", landing.as_str()), ("KAFKA_DEAD_LETTER_TOPIC", dead.as_str())];
    let (code, out, err) = apply(&operator, &broker, "gate", &further);
    assert!(code == 1 && out.contains(&format!("created  topic     {landing}")), "{code} {out}");
    assert!(err.contains(&format!("Kafka is up and still refuses after 5 s: topic {dead} is missing")), "{err}");
    assert!(err.contains("the account needs CREATE on the topic"), "{err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn rights_that_come_later_are_taken_up_without_a_restart() {
    let broker = Broker::start(&["late"]);
    let operator = Operator::new("late_rights").await;
    let topic = Topic::absent(&operator.topic, 1);
    let login = login("late", "late");
    let arguments: Vec<&str> = login.iter().map(String::as_str).collect();
    let mut ingest =
        Ingest::start(&operator.database, &topic, &arguments, &[("KAFKA_BROKERS", broker.address.as_str())]);
    ingest.wait_for_log("not ready, nothing is consumed");
    let (status, body) = ingest.get("/readyz");
    assert!(status == 503 && body.contains("the account needs CREATE on the topic"), "{status} {body}");
    assert_eq!(ingest.get("/livez").0, 200);
    broker.allow("late", &operator.topic, &["Create", "Describe", "DescribeConfigs"]);
    ingest.wait_for_log("joining the group");
    ingest.signal("TERM");
    assert_eq!(ingest.wait_within(Duration::from_secs(40)).code(), Some(0), "{}", ingest.log());
}
