//! A static member that ends between the two rounds in which partitions change hands.

use std::{
    env,
    io::{BufRead as _, BufReader},
    process::{Command, Stdio, abort},
    time::Duration,
};

use rdkafka::{
    ClientConfig, ClientContext,
    consumer::{BaseConsumer, Consumer as _, ConsumerContext, Rebalance},
};

use crate::{
    process::Ingest,
    run::wait_for_rows,
    support::{self, bench},
};

const ASSIGNED: &str = "assigned to the member that will die";
const FIRST: &str = "first";

/// Dies the moment it is told to give partitions up: it knows its new assignment, and the group doesn't know that the
/// partitions are free.
struct Dying;

impl ClientContext for Dying {}

impl ConsumerContext for Dying {
    fn pre_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        if matches!(rebalance, Rebalance::Revoke(_)) {
            abort();
        }
    }

    fn post_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        if let Rebalance::Assign(partitions) = rebalance
            && partitions.count() > 0
        {
            println!("{ASSIGNED}");
        }
    }
}

/// The member that dies; run by the test.
#[test]
#[ignore = "it is a part of partitions_get_an_owner_though_a_static_member_dies_giving_them_away"]
fn dying_member() {
    let topic = env::var("DYING_TOPIC").expect("run by the test alone");
    let consumer: BaseConsumer<Dying> = ClientConfig::new()
        .set("bootstrap.servers", support::kafka_brokers())
        .set("group.id", &topic)
        .set("group.instance.id", FIRST)
        .set("partition.assignment.strategy", "cooperative-sticky")
        .set("enable.auto.commit", "false")
        .create_with_context(Dying)
        .expect("valid properties");
    consumer.subscribe(&[&topic]).expect("a subscription");
    loop {
        let _ = consumer.poll(Duration::from_millis(100));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn partitions_get_an_owner_though_a_static_member_dies_giving_them_away() {
    let (database, topic) = bench("unowned", 4).await;
    // Tables first, so that the members meet without a wait.
    Ingest::start(&database, &topic, &["--until-caught-up"], &[]).wait();
    let mut dying = Command::new(env::current_exe().expect("this test"))
        .args(["--exact", "unowned::dying_member", "--ignored", "--nocapture"])
        .env("DYING_TOPIC", &topic.name)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a process");
    let output = BufReader::new(dying.stdout.take().expect("piped"));
    assert!(output.lines().map_while(Result::ok).any(|line| line.contains(ASSIGNED)), "it ended before");

    // It has no name, so it doesn't look: the other finds out alone.
    let _second = Ingest::start(&database, &topic, &[], &[]);
    assert!(!dying.wait().expect("it ends").success(), "it should have died of the revocation");
    let property = format!("group.instance.id={FIRST}");
    let mut first = Ingest::start(&database, &topic, &["--kafka-property", &property], &[]);
    topic.send_records(2, 0..400);
    wait_for_rows(&database, &mut first, 2, 400).await;
    assert_eq!(first.lines("WARN", "partitions have no owner"), 1, "{}", first.log());
}
