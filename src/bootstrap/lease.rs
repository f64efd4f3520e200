//! The lease: one process at a time changes the schema.
//!
//! A claim is a row; the newest row counts. Whoever finds the lock free writes a claim, waits until every rival that may
//! have found it free as well has either written its own or taken too long, and looks again: only the newest row's holder
//! goes on. A claim that was acknowledged too late is neither kept nor released, for a release would make the lock look
//! free while somebody else may hold it; it lapses. All times in rows are the server's; here only durations are measured.

use std::time::{Duration, Instant};

use serde::Deserialize;
use tokio::time::sleep;
use tracing::{debug, warn};

use super::stop::Stop;
use crate::clickhouse::{Client, Error, literal};

/// One lock for everything that changes the schema.
const LOCK: &str = "schema";

/// How long the parts of the protocol take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// A claim that is acknowledged later than this after its free read isn't kept, and one that is kept waits for as long.
    pub settle: Duration,
    /// How often an occupied lock is looked at.
    pub poll: Duration,
    /// How long a claim lasts, in whole seconds; by default twice the wait, and at least two minutes.
    pub length: Option<Duration>,
}

impl Default for Timing {
    fn default() -> Self {
        Self { settle: Duration::from_secs(2), poll: Duration::from_secs(2), length: None }
    }
}

/// The lock's table and how it is used.
#[derive(Debug, Clone)]
pub struct Lease<'a> {
    /// The server.
    pub client: &'a Client,
    /// The table as SQL writes it.
    pub table: String,
    /// The pace.
    pub timing: Timing,
    /// How long a claim lasts, in whole seconds.
    pub length: Duration,
    /// Whether a majority of replicas has to take a claim.
    pub quorum: bool,
}

/// A lease that is held.
#[derive(Debug, Clone)]
pub struct Claim {
    /// Who holds it: the host, and what tells this claim from every other.
    pub holder: String,
    until: Instant,
}

impl Claim {
    /// Whether it surely hasn't lapsed.
    #[must_use]
    pub fn is_live(&self) -> bool {
        Instant::now() < self.until
    }
}

/// What came of trying.
#[derive(Debug)]
pub enum Taken {
    /// This process holds it.
    Mine(Claim),
    /// Somebody else holds it, or the claim did not find a majority.
    Occupied(String),
}

#[derive(Deserialize)]
struct Newest {
    holder: String,
    is_live: u8,
    seconds_left: i64,
}

impl Lease<'_> {
    /// Takes the lease, waiting for another holder to end. `kept` is a claim that this process took and could not release.
    ///
    /// # Errors
    /// When the server can't be asked, or refuses a claim for another cause than a lack of replicas.
    pub async fn acquire(&self, wait: Duration, kept: Option<&str>) -> Result<Taken, Error> {
        self.acquire_unless(&Stop::default(), wait, kept).await
    }

    /// The same, waiting for nobody once it is asked to end. An attempt that has begun is finished: a claim of which nobody
    /// knows whether it counts could not be given back.
    pub(super) async fn acquire_unless(&self, stop: &Stop, wait: Duration, kept: Option<&str>) -> Result<Taken, Error> {
        let start = Instant::now();
        let mut told = false;
        loop {
            let occupied = match self.attempt(kept).await? {
                Taken::Mine(claim) => return Ok(Taken::Mine(claim)),
                Taken::Occupied(by) => by,
            };
            let waited = start.elapsed();
            if waited >= wait || stop.is_asked() {
                return Ok(Taken::Occupied(occupied));
            }
            if !told {
                warn!(
                    seconds = wait.as_secs(),
                    "waiting for the lease: {occupied}; if that process was killed, this is over when its claim lapses, and \
                     `--bootstrap-tables false` starts at once where everything is as declared"
                );
                told = true;
            }
            let _ = stop.or(sleep(self.timing.poll.min(wait - waited))).await;
            if stop.is_asked() {
                return Ok(Taken::Occupied(occupied));
            }
        }
    }

    async fn attempt(&self, kept: Option<&str>) -> Result<Taken, Error> {
        let read = Instant::now();
        if let Some(newest) = self.newest().await?.filter(|newest| newest.is_live == 1) {
            if kept == Some(newest.holder.as_str()) {
                let left = Duration::from_secs(u64::try_from(newest.seconds_left).unwrap_or(0));
                return Ok(Taken::Mine(Claim { holder: newest.holder, until: read + margin(left) }));
            }
            return Ok(Taken::Occupied(occupied(&newest)));
        }
        let holder = format!("{}#{:016x}", host(), rand::random::<u64>());
        if let Err(error) = self.claim(&holder).await {
            // Too few replicas, or nobody knows whether there were enough.
            if matches!(error.code(), Some(285 | 286 | 319)) {
                return Ok(Taken::Occupied(format!("a claim finds no majority of replicas: {error}")));
            }
            return Err(error);
        }
        let took = read.elapsed();
        if took >= self.timing.settle {
            debug!(?took, "a claim was acknowledged too late and is left to lapse");
            return Ok(Taken::Occupied(format!("a claim took {} ms and has to lapse", took.as_millis())));
        }
        sleep(self.timing.settle).await;
        match self.newest().await? {
            Some(newest) if newest.is_live == 1 && newest.holder == holder => {
                Ok(Taken::Mine(Claim { holder, until: read + margin(self.length) }))
            }
            Some(newest) => Ok(Taken::Occupied(occupied(&newest))),
            None => Ok(Taken::Occupied("the claim is gone: somebody removes rows of the lock".to_owned())),
        }
    }

    async fn newest(&self) -> Result<Option<Newest>, Error> {
        let sql = format!(
            "SELECT holder, toUInt8(released = 0 AND expires_at > now()) AS is_live, \
             toInt64(toUnixTimestamp(expires_at)) - toInt64(toUnixTimestamp(now())) AS seconds_left \
             FROM {} WHERE lock_name = {{lock:String}} ORDER BY acquired_at DESC, holder DESC LIMIT 1",
            self.table
        );
        // Without this a replica that lags behind would show the lock as free.
        let settings: &[(&str, &str)] = if self.quorum { &[("select_sequential_consistency", "1")] } else { &[] };
        Ok(self.client.query_with(&sql, &[("lock", LOCK)], settings).await?.pop())
    }

    async fn claim(&self, holder: &str) -> Result<(), Error> {
        self.write(holder, &format!("now() + toIntervalSecond({})", self.length.as_secs().max(1)), 0).await
    }

    /// Gives the lease back. Only for a claim that is held.
    ///
    /// # Errors
    /// When the server doesn't take it: the claim lapses by itself.
    pub async fn release(&self, claim: &Claim) -> Result<(), Error> {
        self.write(&claim.holder, "now()", 1).await
    }

    /// A row that is newer than every other, whatever the server's clock did in between.
    async fn write(&self, holder: &str, expires: &str, released: u8) -> Result<(), Error> {
        let (table, lock, holder) = (&self.table, literal(LOCK), literal(holder));
        let sql = format!(
            "INSERT INTO {table} (lock_name, holder, acquired_at, expires_at, released) \
             SELECT {lock}, {holder}, greatest(now64(3, 'UTC'), (SELECT max(acquired_at) FROM {table} \
             WHERE lock_name = {lock}) + toIntervalMillisecond(1)), {expires}, {released}"
        );
        let mut settings = vec![("async_insert", "0")];
        if self.quorum {
            settings.extend([
                ("insert_quorum", "auto"),
                ("insert_quorum_parallel", "0"),
                ("insert_quorum_timeout", "10000"),
                ("select_sequential_consistency", "1"),
            ]);
        }
        self.client.execute(&sql, &settings).await
    }
}

/// Ends a little before the server says so.
fn margin(length: Duration) -> Duration {
    length - length / 10
}

fn occupied(newest: &Newest) -> String {
    let host = newest.holder.split('#').next().unwrap_or("");
    match newest.is_live {
        1 => format!("{host} holds it, for {} s at most", newest.seconds_left),
        _ => format!("{host} held it a moment ago"),
    }
}

/// What an operator knows this machine by.
pub(super) fn host() -> String {
    gethostname::gethostname().to_string_lossy().replace('#', "_")
}
