//! The lease on the real engine: one holder at a time, whoever comes, stalls or dies.

use std::{
    env,
    fs::{self, File, OpenOptions},
    io::Write as _,
    process::Command,
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::Deserialize;
use xtcp_ingest::{
    bootstrap::{Action, Claim, Error, Lease, State, Taken, Timing},
    clickhouse::Client,
};

use crate::{
    setup::{Setup, all_on, ids},
    support,
};

const ROUNDS: u64 = 100;
/// Both contenders try at the beginning of each.
const SLOT: Duration = Duration::from_millis(700);
const LENGTH: Duration = Duration::from_secs(4);
const PACE: Timing = Timing { settle: Duration::from_millis(250), poll: Duration::from_millis(50), length: None };
/// For a single claim on a machine that may be busy.
const SLOW: Timing = Timing { settle: Duration::from_secs(1), ..PACE };
const PATIENCE: Duration = Duration::from_secs(20);

fn lease<'a>(client: &'a Client, database: &str, length: Duration) -> Lease<'a> {
    Lease { client, table: format!("`{database}`.`schema_lock`"), timing: SLOW, length, quorum: false }
}

fn mine(taken: Taken) -> Claim {
    match taken {
        Taken::Mine(claim) => claim,
        Taken::Occupied(by) => panic!("{by}"),
    }
}

fn millis() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_millis() as u64
}

/// One of the two processes of the race; run by it.
#[tokio::test]
#[ignore = "it is a part of two_processes_never_hold_it_at_once"]
async fn contender() {
    let variable = |name: &str| env::var(name).unwrap_or_else(|_| panic!("{name}: run by the race alone"));
    let (database, folder) = (variable("RACE_DATABASE"), variable("RACE_FOLDER"));
    let start: u64 = variable("RACE_START").parse().expect("a time");
    let client = Client::new(&support::clickhouse(&database)).expect("a client");
    let lease = Lease { timing: PACE, ..lease(&client, &database, LENGTH) };
    let token = format!("{folder}/held");
    let mut log = File::create(format!("{folder}/{}.log", variable("RACE_NAME"))).expect("a log");
    for round in 0..ROUNDS {
        let begin = start + round * SLOT.as_millis() as u64;
        thread::sleep(Duration::from_millis(begin.saturating_sub(millis())));
        let what = match lease.acquire(Duration::ZERO, None).await.expect("the server answers") {
            Taken::Mine(claim) => {
                let alone = OpenOptions::new().write(true).create_new(true).open(&token).is_ok();
                thread::sleep(Duration::from_millis(20));
                let live = claim.is_live();
                if alone {
                    fs::remove_file(&token).expect("it was ours");
                }
                lease.release(&claim).await.expect("released");
                if alone && live { "won" } else { "BROKEN" }
            }
            Taken::Occupied(why) if why.contains("has to lapse") => "late",
            Taken::Occupied(_) => "lost",
        };
        writeln!(log, "{round} {} {what}", millis()).expect("a line");
    }
}

#[tokio::test]
async fn two_processes_never_hold_it_at_once() {
    let setup = Setup::new("race").await;
    assert_eq!(setup.apply(false).await.state, State::Converged);
    let folder = tempfile::tempdir().expect("a folder");
    let start = millis() + 1500;
    let contenders: Vec<_> = ["a", "b"]
        .iter()
        .map(|name| {
            Command::new(env::current_exe().expect("this test"))
                .args(["--exact", "lease::contender", "--ignored", "--nocapture"])
                .env("RACE_DATABASE", &setup.database.name)
                .env("RACE_FOLDER", folder.path())
                .env("RACE_START", start.to_string())
                .env("RACE_NAME", name)
                .spawn()
                .expect("a process")
        })
        .collect();
    for mut contender in contenders {
        assert!(contender.wait().expect("it ends").success());
    }
    let log = |name: &str| fs::read_to_string(folder.path().join(format!("{name}.log"))).expect("a log");
    let text = log("a") + &log("b");
    assert!(!text.contains("BROKEN"), "two held it at once\n{text}");
    assert_eq!(text.lines().count() as u64, 2 * ROUNDS);
    let mut won: Vec<u64> = text
        .lines()
        // A claim that was acknowledged late occupies the lease as well, until it lapses.
        .filter(|line| line.ends_with("won") || line.ends_with("late"))
        .map(|line| line.split(' ').nth(1).expect("a time").parse().expect("a number"))
        .collect();
    won.sort_unstable();
    let both = |name: &str| log(name).contains("won");
    assert!(both("a") && both("b"), "each won now and then\n{text}");
    let limit = (LENGTH + 2 * SLOT).as_millis() as u64;
    for pair in [start].iter().chain(&won).collect::<Vec<_>>().windows(2) {
        assert!(pair[1] - pair[0] <= limit, "nobody held it for {} ms\n{text}", pair[1] - pair[0]);
    }
}

async fn prepared(test: &str) -> Setup {
    let setup = Setup::new(test).await;
    assert_eq!(setup.apply(false).await.state, State::Converged);
    setup
}

#[tokio::test]
async fn it_is_waited_for_taken_over_and_given_back() {
    let setup = prepared("lease").await;
    let (client, name) = (&setup.database.client, &setup.database.name);
    let short = lease(client, name, Duration::from_secs(5));
    let first = mine(short.acquire(PATIENCE, None).await.expect("an answer"));
    assert!(matches!(short.acquire(Duration::ZERO, None).await, Ok(Taken::Occupied(by)) if by.contains("holds it")));
    // A process knows its own claim again.
    assert_eq!(mine(short.acquire(Duration::ZERO, Some(&first.holder)).await.expect("an answer")).holder, first.holder);
    // An expired one is taken over.
    let second = mine(short.acquire(PATIENCE, None).await.expect("an answer"));
    assert_ne!(first.holder, second.holder);
    assert!(!first.is_live() && second.is_live());
    // One that is given back is free at once.
    short.release(&second).await.expect("released");
    let third = mine(short.acquire(PATIENCE, None).await.expect("an answer"));
    short.release(&third).await.expect("released");
}

#[tokio::test]
async fn a_claim_that_is_acknowledged_late_is_neither_kept_nor_released() {
    let setup = prepared("late_claim").await;
    let (client, name) = (&setup.database.client, &setup.database.name);
    let late = Lease {
        timing: Timing { settle: Duration::from_nanos(1), ..PACE },
        ..lease(client, name, Duration::from_secs(3))
    };
    let taken = late.acquire(Duration::ZERO, None).await.expect("an answer");
    assert!(matches!(&taken, Taken::Occupied(why) if why.contains("has to lapse")), "{taken:?}");
    let other = lease(client, name, Duration::from_secs(3));
    assert!(matches!(other.acquire(Duration::ZERO, None).await, Ok(Taken::Occupied(_))), "it occupies the lease");
    mine(other.acquire(PATIENCE, None).await.expect("an answer"));
}

#[tokio::test]
async fn a_clock_that_jumped_does_not_hide_a_claim() {
    let setup = prepared("clock").await;
    let insert = "INSERT INTO {db}.schema_lock SELECT 'schema', 'from the future', now64(3) + INTERVAL 1 DAY, now(), 1";
    setup.database.execute(insert).await;
    let lease = lease(&setup.database.client, &setup.database.name, Duration::from_secs(60));
    mine(lease.acquire(PATIENCE, None).await.expect("an answer"));
    assert!(matches!(lease.acquire(Duration::ZERO, None).await, Ok(Taken::Occupied(_))));
}

#[derive(Deserialize, Debug, PartialEq, Eq)]
struct Creators {
    object: String,
    creators: u64,
}

#[tokio::test]
async fn one_that_waits_in_vain_observes_and_applies_nothing() {
    let setup = prepared("observed").await;
    setup.database.execute("DROP TABLE {db}.xtcp_flat_records_v1 SYNC").await;
    let lease = lease(&setup.database.client, &setup.database.name, Duration::from_secs(60));
    let claim = mine(lease.acquire(PATIENCE, None).await.expect("an answer"));
    let dials = xtcp_ingest::config::Bootstrap { wait: Duration::from_secs(1), ..all_on() };
    let report = setup.report(dials).await;
    assert_eq!((report.state, report.is_ready()), (State::Observed, false));
    assert!(matches!(report.error, Some(Error::Occupied(_))), "{:?}", report.error);
    assert!(report.holder.is_some() && report.objects.is_empty());
    assert_eq!(ids(&setup.plan().await, Action::Created), ["data.flat_v1"], "nothing was applied");
    lease.release(&claim).await.expect("released");
    assert_eq!(ids(&setup.apply(false).await, Action::Created), ["data.flat_v1"]);
}

#[tokio::test]
async fn many_at_once_on_an_empty_server_all_converge_and_each_object_has_one_creator() {
    let setup = Setup::new("at_once").await;
    let (one, two, three) = (setup.controller(all_on()), setup.controller(all_on()), setup.controller(all_on()));
    let reports = tokio::join!(one.pass(), two.pass(), three.pass());
    for report in [&reports.0, &reports.1, &reports.2] {
        assert_eq!(report.state, State::Converged, "{:?}", report.error);
    }
    let sql = "SELECT object, countIf(action = 'created') AS creators FROM {db}.schema_migrations GROUP BY object";
    let rows: Vec<Creators> = setup.database.query(sql).await;
    assert_eq!(rows.len(), crate::content::object_counts().0);
    assert!(rows.iter().all(|row| row.creators == 1), "{rows:?}");
}
