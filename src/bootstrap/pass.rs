//! One pass: wait for the services, take the lease, bring everything about in the order of the manifest, record it.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use jiff::Timestamp;
use tracing::{info, warn};

use super::{
    apply::Apply,
    assertion::assert_declared,
    catalogue::Catalogue,
    ddl::Ddl,
    definitions::{Definitions, LEASE, LEDGER, Object},
    error::Error,
    lease::{Claim, Lease, Taken, Timing, host},
    ledger::{Ledger, Pass, Recorded},
    live::check_database,
    outcome::{Action, Outcome},
    parameters::Parameters,
    patience::Patience,
    planner::Planner,
    platform::Platform,
    probe,
    render::Statement,
    report::{Report, State},
    stop::Stop,
    topics::Topics,
};
use crate::{clickhouse::Client, config};

/// A lease lasts twice the wait, and no less than twice this.
const SHORTEST: Duration = Duration::from_secs(60);

/// Who is shown the reports.
type Watch<'a> = Box<dyn Fn(&Arc<Report>) + Send + Sync + 'a>;

/// The only one that creates and alters: everything that a pass needs.
pub struct Controller<'a, T> {
    pub(super) client: &'a Client,
    pub(super) topics: &'a T,
    pub(super) definitions: &'a Definitions,
    pub(super) parameters: &'a Parameters,
    pub(super) dials: config::Bootstrap,
    timing: Timing,
    allow_drift: bool,
    pub(super) stop: Stop,
    /// What is worked on; everything, topics included, without it.
    only: Option<fn(&Object) -> bool>,
    watch: Watch<'a>,
    /// A claim that is held because it could not be given back.
    kept: Mutex<Option<String>>,
}

/// Brings ClickHouse and Kafka into the declared state as far as `dials` allow, waiting for either to answer.
///
/// # Errors
/// The first thing that stands in the way. A pass may be run again at any time: it goes on where this one ended.
pub async fn pass<T: Topics>(
    client: &Client,
    topics: &T,
    definitions: &Definitions,
    parameters: &Parameters,
    dials: &config::Bootstrap,
) -> Result<Report, Error> {
    let report = Controller::new(client, topics, definitions, parameters, *dials).pass().await;
    // Whoever watched it has let go of it with the controller.
    let mut report = Arc::into_inner(report).expect("nobody else has the report");
    match report.error.take() {
        Some(error) => Err(error),
        None => Ok(report),
    }
}

impl<'a, T: Topics> Controller<'a, T> {
    /// A controller that has done nothing yet.
    #[must_use]
    pub fn new(
        client: &'a Client,
        topics: &'a T,
        definitions: &'a Definitions,
        parameters: &'a Parameters,
        dials: config::Bootstrap,
    ) -> Self {
        Self {
            client,
            topics,
            definitions,
            parameters,
            dials,
            timing: Timing::default(),
            allow_drift: false,
            stop: Stop::default(),
            only: None,
            watch: Box::new(|_| ()),
            kept: Mutex::default(),
        }
    }

    /// Takes the lease at another pace.
    #[must_use]
    pub fn timing(self, timing: Timing) -> Self {
        Self { timing, ..self }
    }

    /// Carries out the drift that can be.
    #[must_use]
    pub fn allow_drift(self, allow_drift: bool) -> Self {
        Self { allow_drift, ..self }
    }

    /// Ends a pass early, with the lease given back, once it is asked to.
    #[must_use]
    pub fn stopped_by(self, stop: Stop) -> Self {
        Self { stop, ..self }
    }

    /// Works on these objects alone, and on no topic. Each step is recorded as soon as it is done. The ledger, the lease and
    /// what they need have to be among them.
    #[must_use]
    pub fn only(self, objects: fn(&Object) -> bool) -> Self {
        Self { only: Some(objects), ..self }
    }

    /// Shows the report of each pass to somebody, when it begins and when it ends.
    #[must_use]
    pub fn watched(self, watch: impl Fn(&Arc<Report>) + Send + Sync + 'a) -> Self {
        Self { watch: Box::new(watch), ..self }
    }

    /// One pass. It never fails to give a report: what went wrong is in it.
    pub async fn pass(&self) -> Arc<Report> {
        let start = Instant::now();
        (self.watch)(&Arc::new(self.report()));
        let mut report = self.report();
        let ended = self.run(&mut report).await;
        report.state = match &ended {
            _ if !self.dials.tables => State::Unknown,
            Ok(()) => State::Converged,
            Err(Error::Occupied(_)) => State::Observed,
            Err(_) => State::Failed,
        };
        report.error = ended.err();
        report.finished_at = Some(Timestamp::now());
        report.duration = Some(start.elapsed());
        tell(&report);
        let report = Arc::new(report);
        (self.watch)(&report);
        report
    }

    /// What a pass would do. Nothing is sent that changes anything, and nothing is waited for.
    ///
    /// # Errors
    /// When ClickHouse can't be asked, or isn't fit for what is declared.
    pub async fn plan(&self) -> Result<Report, Error> {
        let mut report = self.report();
        let start = Instant::now();
        let platform = probe::platform(self.client, self.dials.platform).await?;
        report.platform = Some(platform);
        let planner = Planner::new(self.client, self.definitions, self.parameters, platform).await?;
        let catalogues = self.catalogues(platform).await?;
        let (ddl, stop) = (self.ddl(platform), &self.stop);
        let apply = Apply { planner: &planner, ddl, allow_drift: self.allow_drift, dry: true, claim: None, stop };
        for (object, statement) in self.statements(&planner) {
            report.objects.push(apply.object(object, &statement, &catalogues[&statement.database]).await?);
        }
        if self.only.is_none() {
            self.plan_topics(&mut report).await;
        }
        report.finished_at = Some(Timestamp::now());
        report.duration = Some(start.elapsed());
        report.state = State::Unknown;
        Ok(report)
    }

    /// What the ledger says, by database and name; `None` when there is no ledger.
    ///
    /// # Errors
    /// When ClickHouse can't be asked.
    pub async fn recorded(&self) -> Result<Option<Vec<Recorded>>, Error> {
        let Some(ledger) = self.bookkeeping(LEDGER) else { return Ok(None) };
        let there = Catalogue::read_one(self.client, &ledger.database, &ledger.name).await?.has(&ledger.name);
        if !there {
            return Ok(None);
        }
        Ok(Some(Ledger { client: self.client, table: ledger.quoted_name() }.read().await?))
    }

    /// The lease of the schema, and the platform that it was found for: for other work that nobody may do twice at once.
    ///
    /// # Errors
    /// When ClickHouse can't be asked, or there is no lease yet.
    pub async fn schema_lease(&self) -> Result<(Lease<'a>, Platform), Error> {
        let platform = probe::platform(self.client, self.dials.platform).await?;
        Ok((self.lease(platform), platform))
    }

    pub(super) fn report(&self) -> Report {
        let mut report = Report::new(&self.definitions.manifest.release, self.client.database());
        report.overlay_refused.clone_from(&self.definitions.overlay_refused);
        report
    }

    async fn run(&self, report: &mut Report) -> Result<(), Error> {
        if !self.dials.tables {
            let notice = "bootstrap.tables is off: nothing is created or altered in ClickHouse";
            warn!("{notice}");
            report.notice = Some(notice.to_owned());
            let mut patience = Patience::new("ClickHouse", self.dials.wait);
            while let Err(error) = assert_declared(self.client, self.definitions, self.parameters).await {
                self.stop.or(patience.after(error)).await??;
            }
            return self.all_topics(report).await;
        }
        // What an attempt created stays created when the next one finds it there.
        let mut created = HashSet::new();
        let mut patience = Patience::new("ClickHouse", self.dials.wait);
        loop {
            let ended = match self.stop.or(patience.watch(self.client.ping())).await? {
                Ok(()) => self.attempt(report, &mut created).await,
                Err(error) => Err(error.into()),
            };
            match ended {
                Ok(()) => return Ok(()),
                Err(error) => self.stop.or(patience.after(error)).await??,
            }
        }
    }

    /// One attempt at everything, from the first question to the release of the lease.
    async fn attempt(&self, report: &mut Report, created: &mut HashSet<String>) -> Result<(), Error> {
        let platform = probe::platform(self.client, self.dials.platform).await?;
        report.platform = Some(platform);
        let planner = Planner::new(self.client, self.definitions, self.parameters, platform).await?;
        self.create_bookkeeping(&planner, created).await?;
        let lease = self.lease(platform);
        let kept = self.kept().clone();
        let claim = match lease.acquire_unless(&self.stop, self.dials.wait, kept.as_deref()).await? {
            Taken::Mine(claim) => claim,
            Taken::Occupied(_) if self.stop.is_asked() => return Err(Error::Stopped),
            Taken::Occupied(by) => {
                report.holder = by.split(' ').next().map(str::to_owned);
                return Err(Error::Occupied(by));
            }
        };
        report.holder = Some(host());
        let ended = self.leased(report, &planner, &claim, created).await;
        match lease.release(&claim).await {
            Ok(()) => *self.kept() = None,
            Err(error) => {
                report.lease_left = true;
                warn!("the lease could not be given back and lapses by itself: {error}");
                *self.kept() = Some(claim.holder);
            }
        }
        ended
    }

    /// Everything that happens under the lease.
    async fn leased(
        &self,
        report: &mut Report,
        planner: &Planner<'_>,
        claim: &Claim,
        created: &mut HashSet<String>,
    ) -> Result<(), Error> {
        // Read anew: who held the lease before may have changed everything.
        let catalogues = self.catalogues(planner.platform).await?;
        let ddl = self.ddl(planner.platform);
        let (claim_live, stop) = (Some(claim), &self.stop);
        let apply = Apply { planner, ddl, allow_drift: self.allow_drift, dry: false, claim: claim_live, stop };
        report.objects.clear();
        let ledger = self.bookkeeping_of(planner.platform, LEDGER);
        let ledger = ledger.map(|ledger| Ledger { client: self.client, table: ledger.quoted_name() });
        let schemas_version = report.schemas_version.clone();
        let pass = Pass { schemas_version: &schemas_version, platform: planner.platform, holder: &claim.holder };
        let mut statements = Vec::new();
        let mut recorded: HashSet<String> = HashSet::new();
        let mut failed: Vec<String> = Vec::new();
        let mut absent: HashSet<&str> = HashSet::new();
        for (object, statement) in self.statements(planner) {
            if self.stop.is_asked() {
                return Err(Error::Stopped);
            }
            let needs = object.entry.depends_on.iter().find(|id| absent.contains(id.as_str()));
            let mut outcome = match needs {
                Some(needs) => without(&statement, needs),
                None => apply.object(object, &statement, &catalogues[&statement.database]).await?,
            };
            if outcome.action == Action::Created {
                created.insert(outcome.id.clone());
            } else if outcome.action == Action::Unchanged && created.contains(&outcome.id) {
                outcome.action = Action::Created;
            }
            if outcome.action == Action::Skipped {
                absent.insert(&object.entry.id.value);
                if !object.entry.optional && !object.is_overlay {
                    failed.push(outcome.reason.clone().unwrap_or_default());
                }
            }
            let is_step = matches!(outcome.action, Action::Created | Action::Altered);
            if let Some(ledger) = ledger.as_ref().filter(|_| self.only.is_some() && is_step) {
                ledger.record(pass, &[(&statement, &outcome)]).await?;
                recorded.insert(outcome.id.clone());
            }
            report.objects.push(outcome);
            statements.push(statement);
        }
        if let Some(ledger) = ledger {
            let rows = statements.iter().zip(&report.objects).filter(|(_, outcome)| !recorded.contains(&outcome.id));
            ledger.record(pass, &rows.collect::<Vec<(&Statement, &Outcome)>>()).await?;
        }
        let topics = if self.only.is_some() { Ok(()) } else { self.all_topics(report).await };
        if !failed.is_empty() {
            return Err(Error::Objects(failed));
        }
        topics
    }

    /// The lease needs its table, and the ledger is what the pass writes to: both come before the lease, and creating them
    /// twice at once does no harm.
    async fn create_bookkeeping(&self, planner: &Planner<'_>, created: &mut HashSet<String>) -> Result<(), Error> {
        let ddl = self.ddl(planner.platform);
        let apply = Apply { planner, ddl, allow_drift: false, dry: false, claim: None, stop: &self.stop };
        let all: Vec<(&Object, Statement)> = self.statements(planner).collect();
        let last = all.iter().rposition(|(object, _)| [LEDGER, LEASE].contains(&object.entry.id.value.as_str()));
        for (object, statement) in all.iter().take(last.map_or(0, |last| last + 1)) {
            let catalogue = Catalogue::read_one(self.client, &statement.database, &statement.name).await?;
            check_database(&statement.database, &catalogue, planner.platform)?;
            if catalogue.has(&statement.name) {
                continue;
            }
            let outcome = apply.object(object, statement, &catalogue).await?;
            match outcome.action {
                Action::Created => drop(created.insert(outcome.id)),
                Action::Skipped => return Err(Error::Objects(outcome.reason.into_iter().collect())),
                _ => {}
            }
        }
        Ok(())
    }

    fn statements<'p>(&'p self, planner: &'p Planner<'_>) -> impl Iterator<Item = (&'p Object, Statement)> {
        let objects = self.definitions.objects.iter().filter(|object| self.only.is_none_or(|only| only(object)));
        objects.filter_map(|object| Some((object, planner.statement(object)?)))
    }

    fn bookkeeping(&self, id: &str) -> Option<Statement> {
        self.bookkeeping_of(Platform::Single, id)
    }

    fn bookkeeping_of(&self, platform: Platform, id: &str) -> Option<Statement> {
        let object = self.definitions.objects.iter().find(|object| object.entry.id.value == id)?;
        self.definitions.statement(object, self.parameters, platform)
    }

    fn lease(&self, platform: Platform) -> Lease<'a> {
        let length = self.timing.length.unwrap_or_else(|| 2 * self.dials.wait.max(SHORTEST));
        let table = self.bookkeeping(LEASE).map(|statement| statement.quoted_name()).unwrap_or_default();
        Lease { client: self.client, table, timing: self.timing, length, quorum: platform == Platform::SelfHosted }
    }

    fn ddl(&self, platform: Platform) -> Ddl<'a> {
        Ddl { client: self.client, platform, ceiling: self.dials.ddl_max_query_size }
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn without(statement: &Statement, needs: &str) -> Outcome {
    let mut outcome =
        Outcome::unchanged(&statement.id, statement.kind, statement.full_name(), statement.checksum.clone());
    outcome.action = Action::Skipped;
    outcome.reason = Some(format!("{}: needs {needs}, which isn't there", statement.full_name()));
    outcome
}

fn tell(report: &Report) {
    let took = report.duration.unwrap_or_default().as_secs_f64();
    let [created, altered, unchanged, refused, skipped] = Action::ALL.map(|action| report.count(action));
    let (state, platform) = (report.state.name(), report.platform.map_or("unknown", Platform::name));
    match &report.error {
        None => info!(state, platform, created, altered, unchanged, refused, skipped, seconds = took, "schema pass"),
        Some(error) => warn!(state, platform, seconds = took, "schema pass: {error}"),
    }
}
