//! `migrate adopt`.

use std::{collections::BTreeMap, process::ExitCode, time::Duration};

use serde_json::json;

use super::{
    Failure, migrate_adopt_text as text, output,
    schema::{Plan, Tools, with},
};
use crate::{
    bootstrap::{Claim, Report, Stop, Taken},
    config,
    kafka::{Fetcher, Group},
    migrate::adopt::{self, How, Moment, Record, Recorded, Topology, Verification, Wanted},
    pipeline::Asked,
    telemetry,
};

/// Take over from tables with the Kafka engine
#[derive(Debug, clap::Args)]
pub(super) struct Adopt {
    /// Do it; without this the plan is shown and nothing is changed
    #[arg(long)]
    apply: bool,
    /// Drop the reader and its views, instead of detaching them for good
    #[arg(long)]
    drop: bool,
    /// Copy the offsets of the reader's group into `kafka.group`, which is another one, instead of going on in the same
    #[arg(long)]
    copy_offsets: bool,
    /// How long the committed offsets have to stand still, in seconds
    #[arg(long, default_value_t = 10, value_name = "SECONDS")]
    settle: u64,
    /// Count the messages since the seam, and hold the tables against them
    #[arg(long, conflicts_with_all = ["apply", "drop", "copy_offsets"])]
    verify: bool,
    #[command(flatten)]
    plan: Plan,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum AdoptError {
    #[error("can't take over:\n  {}", .0.join("\n  "))]
    Objections(Vec<String>),
    #[error("the group `{group}` still has {members} members, or commits, after {seconds} s")]
    Moving { group: String, members: usize, seconds: u64 },
    #[error("another process has the lease: {0}")]
    Occupied(String),
    #[error("the lease lapsed before everything was stopped")]
    LeaseLapsed,
    #[error("there is no topic `{0}`")]
    NoTopic(String),
    #[error("group `{group}` has offsets of its own: partition {partition} is at {has}, to be copied is {copied}")]
    OwnOffsets { group: String, partition: i32, has: i64, copied: i64 },
    #[error("nothing was taken over in this database")]
    NoSeam,
}

/// What is there, and what was asked for.
pub(super) struct Work<'a> {
    pub tools: &'a Tools,
    pub topology: Topology,
    pub recorded: Recorded,
    pub how: How,
    pub copies_offsets: bool,
    pub settle: Duration,
    json: bool,
}

pub(super) fn failed(error: &dyn std::error::Error) -> Failure {
    Failure::failed(error)
}

pub(super) fn run(adopt: Adopt) -> Result<ExitCode, Failure> {
    let Adopt { apply, drop, copy_offsets, settle, verify, plan } = adopt;
    with(plan, async |json, tools| {
        let topology = Topology::find(&tools.client).await.map_err(|error| failed(&error))?;
        let work = Work {
            tools,
            topology,
            recorded: recorded(tools).await?,
            how: if drop { How::Drop } else { How::Detach },
            copies_offsets: copy_offsets,
            settle: Duration::from_secs(settle),
            json,
        };
        if verify {
            return work.verify().await;
        }
        let report = tools.controller().plan().await.map_err(|error| failed(&error))?;
        let objections = work.objections(&report);
        if !objections.is_empty() {
            return Err(failed(&AdoptError::Objections(objections))
                .hint("set what is this service's own, and mend the rest by hand; nothing was changed"));
        }
        let notes = work.topology.notes(&tools.definitions, &report);
        let nothing = work.topology.is_empty() && !work.recorded.is_under_way();
        if !json {
            output::print(&text::plan(&work, &report, &notes))?;
        } else if !apply || nothing {
            output::print_json(&text::plan_json(&work, &report, &notes))?;
        }
        match (nothing, apply) {
            (true, _) => Ok(ExitCode::SUCCESS),
            (false, false) => Ok(ExitCode::from(2)),
            (false, true) => work.take_over().await,
        }
    })
}

/// What the ledger says; nothing as long as there is none.
pub(super) async fn recorded(tools: &Tools) -> Result<Recorded, Failure> {
    let controller = tools.controller();
    if controller.recorded().await.map_err(|error| failed(&error))?.is_none() {
        return Ok(Recorded::default());
    }
    let (_, platform) = controller.schema_lease().await.map_err(|error| failed(&error))?;
    let record = Record::new(&tools.client, &tools.definitions, platform, "");
    record.read().await.map_err(|error| failed(&error))
}

impl Work<'_> {
    pub(super) fn kafka(&self) -> &config::Kafka {
        &self.tools.config.kafka
    }

    /// The group of the reader: on the server, or as it was when the takeover began.
    pub(super) fn reader_group(&self) -> &str {
        let begun = self.recorded.begun.as_ref().filter(|_| self.recorded.is_under_way());
        let known = self.topology.group().or(begun.map(|begun| begun.from_group.as_str()));
        known.unwrap_or(&self.kafka().group)
    }

    fn objections(&self, report: &Report) -> Vec<String> {
        let kafka = self.kafka();
        let wanted = Wanted {
            topic: &kafka.topic,
            group: &kafka.group,
            copies_offsets: self.copies_offsets,
            drops: self.how == How::Drop,
        };
        let mut objections = self.topology.objections(&self.tools.definitions, wanted);
        let begun = self.recorded.begun.as_ref().filter(|_| self.recorded.is_under_way());
        if let Some(begun) = begun.filter(|begun| begun.topic != kafka.topic || begun.group != kafka.group) {
            objections.push(format!(
                "a takeover of topic `{}` for group `{}` was begun and isn't finished: finish it with these settings",
                begun.topic, begun.group
            ));
        }
        let registry = &self.tools.definitions.registry;
        let tables = registry.epochs().iter().map(|epoch| epoch.table.name.as_str());
        objections.extend(report.blocked(tables.chain([self.tools.definitions.errors().name.as_str()])));
        objections
    }

    async fn take_over(&self) -> Result<ExitCode, Failure> {
        let go_on = |failure: Failure| {
            failure.hint("run the same command again: what was done stays done, and it goes on from there")
        };
        let asked = Asked::listen().map_err(|error| failed(&error))?;
        let working = telemetry::spinner("taking over");
        // The pass comes first: it makes the lease and the ledger that the rest needs, replaces nothing, and keeps the time
        // short in which nobody reads.
        let report = self.tools.controller().stopped_by(Stop::on(asked.seen())).pass().await;
        if let Some(error) = &report.error {
            return Err(go_on(failed(error)));
        }
        let (begun, stopped) = self.stop().await.map_err(go_on)?;
        let quiet = self.counts().await?;
        let committed = self.stand_still().await.map_err(go_on)?;
        let rows = self.counts().await?;
        if self.copies_offsets {
            self.copy(&committed).await?;
        }
        let seam = Moment { committed, rows, ..begun.clone() };
        let (_, platform) = self.tools.controller().schema_lease().await.map_err(|error| failed(&error))?;
        let record = Record::new(&self.tools.client, &self.tools.definitions, platform, &holder());
        record.seam(&seam).await.map_err(|error| go_on(failed(&error)))?;
        working.finish_and_clear();
        let others = adopt::moved(&quiet, &seam.rows);
        if self.json {
            output::print_json(&json!({
                "stopped": stopped.iter().map(|(part, how)| json!({ "name": part.name, "how": how.done() })).collect::<Vec<_>>(),
                "restores": adopt::restores(&stopped, self.tools.client.database()),
                "before": begun, "seam": seam, "moved_while_nobody_read": others, "copied_offsets": self.copies_offsets,
            }))?;
        } else {
            output::print(&text::taken_over(self, &report, &begun, &seam, &stopped, &others))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Stops the reader and then its views, under the lease. How all stood before, and everything that this takeover stopped.
    async fn stop(&self) -> Result<(Moment, Vec<(adopt::Part, How)>), Failure> {
        let tools = self.tools;
        let controller = tools.controller();
        let (lease, platform) = controller.schema_lease().await.map_err(|error| failed(&error))?;
        let taken = lease.acquire(tools.config.bootstrap.wait, None).await.map_err(|error| failed(&error))?;
        let claim = match taken {
            Taken::Mine(claim) => claim,
            Taken::Occupied(by) => return Err(failed(&AdoptError::Occupied(by))),
        };
        let record = Record::new(&tools.client, &tools.definitions, platform, &claim.holder);
        let ended = self.stop_leased(&record, &claim).await;
        // One that could not be given back lapses by itself.
        let _ = lease.release(&claim).await;
        ended
    }

    async fn stop_leased(
        &self,
        record: &Record<'_>,
        claim: &Claim,
    ) -> Result<(Moment, Vec<(adopt::Part, How)>), Failure> {
        // Read anew: who held the lease before may have gone on with it.
        let recorded = record.read().await.map_err(|error| failed(&error))?;
        let begun = match recorded.begun.clone().filter(|_| recorded.is_under_way()) {
            Some(begun) => begun,
            None => {
                let (_, committed) = self.group_stands().await?;
                let kafka = self.kafka();
                let (topic, group) = (kafka.topic.clone(), kafka.group.clone());
                let from_group = self.reader_group().to_owned();
                let moment = Moment { topic, from_group, group, committed, rows: self.counts().await? };
                record.begin(&moment).await.map_err(|error| failed(&error))?;
                moment
            }
        };
        let mut stopped = if recorded.is_under_way() { recorded.stopped } else { Vec::new() };
        let there = Topology::find(&self.tools.client).await.map_err(|error| failed(&error))?;
        for part in there.parts() {
            if !claim.is_live() {
                return Err(failed(&AdoptError::LeaseLapsed));
            }
            record.stopping(&part, self.how).await.map_err(|error| failed(&error))?;
            let sql = part.stop(self.tools.client.database(), self.how);
            self.tools.client.execute(&sql, &[]).await.map_err(|error| failed(&error))?;
            record.stopped(&part, self.how).await.map_err(|error| failed(&error))?;
            stopped.retain(|(other, _)| other.name != part.name);
            stopped.push((part, self.how));
        }
        Ok((begun, stopped))
    }

    async fn counts(&self) -> Result<BTreeMap<String, u64>, Failure> {
        adopt::counts(&self.tools.client, &self.tools.definitions).await.map_err(|error| failed(&error))
    }

    /// Holds the tables against the messages since the seam.
    async fn verify(&self) -> Result<ExitCode, Failure> {
        let Some(seam) = &self.recorded.seam else {
            return Err(failed(&AdoptError::NoSeam).hint("`migrate adopt --apply` takes over"));
        };
        let working = telemetry::spinner("counting the messages since the seam");
        let kafka = config::Kafka { topic: seam.topic.clone(), group: seam.group.clone(), ..self.kafka().clone() };
        let group = Group::new(&kafka).map_err(|error| failed(&error))?;
        let partitions = self.partitions().await?;
        // What is committed before the rows are counted has its rows; what is sent after that has none.
        let committed = group.committed(&seam.topic, &partitions).await.map_err(|error| failed(&error))?;
        let rows = self.counts().await?;
        let ends = group.ends(&seam.topic, &partitions).await.map_err(|error| failed(&error))?;
        let verification = Verification {
            definitions: &self.tools.definitions,
            framing: kafka.framing,
            fetcher: Fetcher::new(&kafka),
        };
        // Nothing else goes on in this process meanwhile.
        let verified = verification.expected(seam, &committed, &ends).map_err(|error| failed(&error))?;
        let verified = verified.against(seam, &rows);
        working.finish_and_clear();
        if self.json {
            output::print_json(&json!({ "seam": seam, "since": verified.json() }))?;
        } else {
            output::print(&text::verified(seam, &verified))?;
        }
        Ok(if verified.is_sound() { ExitCode::SUCCESS } else { ExitCode::from(2) })
    }
}

/// Who did it, in the ledger, where no lease is held.
fn holder() -> String {
    gethostname::gethostname().to_string_lossy().into_owned()
}
