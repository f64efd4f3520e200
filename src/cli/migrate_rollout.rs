//! `migrate plan`, `migrate apply`, `migrate status`.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::{
    Failure, migrate_adopt, migrate_adopt_text, migrate_text, output,
    schema::{Apply, Plan, Tools, with},
    schema_text,
};
use crate::{
    bootstrap::{Action, Error, Platform, Recorded, State, Statement, Stop, Taken},
    lane::Reason,
    migrate::{
        replay::{self, Marks},
        rollout::{self, Move, Waiting},
    },
    pipeline::Asked,
    telemetry,
};

/// What an operator is told besides the steps.
pub(super) struct Context {
    /// The newest epoch.
    pub epoch: u32,
    /// Columns that move with it.
    pub moves: Vec<Move>,
    /// Diverted records of epochs without a definition; `None` without an error table.
    pub waiting: Option<Vec<Waiting>>,
    /// The epochs that have a definition.
    pub defined: Vec<u32>,
}

pub(super) fn plan(plan: Plan) -> Result<ExitCode, Failure> {
    with(plan, async |json, tools| {
        let report = tools.controller().only(rollout::is_part).plan().await.map_err(|e| Failure::failed(&e))?;
        let context = context(tools).await?;
        if json {
            output::print_json(&with_context(report.json(), tools, &context))?;
        } else {
            output::print(&format!("{}{}", schema_text::plan(&report), migrate_text::waiting(&context)))?;
        }
        let nothing = report.objects.len() == report.count(Action::Unchanged);
        Ok(if nothing { ExitCode::SUCCESS } else { ExitCode::from(2) })
    })
}

pub(super) fn apply(Apply { allow_drift, plan }: Apply) -> Result<ExitCode, Failure> {
    with(plan, async |json, tools| {
        let asked = Asked::listen().map_err(|error| Failure::failed(&error))?;
        let working = telemetry::spinner("rolling out");
        let before = releases(tools).await?;
        let controller = tools.controller().only(rollout::is_part).stopped_by(Stop::on(asked.seen()));
        let report = controller.allow_drift(allow_drift).pass().await;
        let after = releases(tools).await?;
        let context = context(tools).await?;
        working.finish_and_clear();
        if json {
            let mut value = with_context(report.json(), tools, &context);
            value["before"] = json!(before);
            value["after"] = json!(after);
            output::print_json(&value)?;
        } else {
            let went_through = report.state == State::Converged && report.count(Action::Refused) == 0;
            let mut text = schema_text::applied(&report);
            text.push_str(&migrate_text::before_and_after(&before, &after));
            text.push_str(&if went_through { migrate_text::next(&context) } else { String::new() });
            output::print(&text)?;
        }
        match (&report.error, report.state) {
            (Some(Error::Occupied(_)), _) => Ok(ExitCode::from(3)),
            (Some(error), _) => {
                Err(Failure::failed(error).hint("run the same command again: what was done is found and left as it is"))
            }
            (None, State::Converged) if report.count(Action::Refused) > 0 => Ok(ExitCode::from(2)),
            (None, _) => Ok(ExitCode::SUCCESS),
        }
    })
}

pub(super) fn status(plan: Plan) -> Result<ExitCode, Failure> {
    with(plan, async |json, tools| {
        let takeover = migrate_adopt::recorded(tools).await?;
        let recorded = recorded(tools).await?;
        let context = context(tools).await?;
        if json {
            let value = json!({ "recorded": recorded, "takeover": migrate_adopt_text::recorded_json(&takeover) });
            output::print_json(&with_context(value, tools, &context))?;
        } else {
            let text = schema_text::status(Some(&recorded), tools.client.database());
            let takeover = migrate_adopt_text::recorded(&takeover);
            output::print(&format!("{text}{}{takeover}", migrate_text::waiting(&context)))?;
        }
        Ok(ExitCode::SUCCESS)
    })
}

#[derive(Debug, clap::Args)]
pub(super) struct Replay {
    /// Why the records were diverted
    #[arg(long, default_value = "unknown_epoch", value_name = "REASON", value_parser = replay::reason)]
    reason: Reason,
    #[command(flatten)]
    plan: Plan,
}

pub(super) fn replay(Replay { reason, plan }: Replay) -> Result<ExitCode, Failure> {
    with(plan, async |json, tools| {
        let failed = |error: &dyn std::error::Error| {
            Failure::failed(error).hint("run the same command again: what was placed is not placed twice")
        };
        let controller = tools.controller();
        let (lease, platform) = controller.schema_lease().await.map_err(|error| failed(&error))?;
        let working = telemetry::spinner("replaying");
        let taken = lease.acquire(tools.config.bootstrap.wait, None).await.map_err(|error| failed(&error))?;
        let claim = match taken {
            Taken::Mine(claim) => claim,
            Taken::Occupied(by) => {
                working.finish_and_clear();
                output::print(&format!("nothing was replayed: another process has the lease: {by}\n"))?;
                return Ok(ExitCode::from(3));
            }
        };
        let marks = Marks::new(&tools.client);
        let created = marks.create(&tools.definitions, &tools.parameters, platform).await;
        let replay = replay::Replay { client: &tools.client, definitions: &tools.definitions, marks, reason };
        let ended = match created {
            Ok(()) => replay.run(&claim).await,
            Err(error) => Err(error.into()),
        };
        // One that could not be given back lapses by itself.
        let _ = lease.release(&claim).await;
        working.finish_and_clear();
        let done = ended.map_err(|error| failed(&error))?;
        if json {
            output::print_json(&json!({
                "reason": reason.code(), "placed": done.placed, "finished": done.finished, "refused": done.refused,
                "given_up": done.given_up,
            }))?;
        } else {
            output::print(&migrate_text::replayed(reason, &done))?;
        }
        Ok(if done.refused.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(2) })
    })
}

/// What the ledger says of the objects of a rollout.
async fn recorded(tools: &Tools) -> Result<Vec<Recorded>, Failure> {
    let recorded = tools.controller().recorded().await.map_err(|error| Failure::failed(&error))?.unwrap_or_default();
    let is_part = |statement: &Statement| {
        let object = tools.definitions.objects.iter().find(|object| object.entry.id.value == statement.id);
        object.is_some_and(rollout::is_part)
    };
    // A database is recorded under its own name, which stands in no statement's.
    let parts: Vec<String> = tools
        .definitions
        .statements(&tools.parameters, Platform::Single)
        .into_iter()
        .filter(is_part)
        .map(|statement| if statement.name.is_empty() { statement.database } else { statement.name })
        .collect();
    Ok(recorded.into_iter().filter(|row| parts.contains(&row.object)).collect())
}

/// The release from which each object is, by name.
async fn releases(tools: &Tools) -> Result<Vec<(String, String)>, Failure> {
    Ok(recorded(tools).await?.into_iter().map(|row| (row.object, row.schemas_version)).collect())
}

async fn context(tools: &Tools) -> Result<Context, Failure> {
    let registry = &tools.definitions.registry;
    let waiting = rollout::waiting(&tools.client, &tools.definitions).await.map_err(|e| Failure::failed(&e))?;
    let defined = registry.epochs().iter().map(|epoch| epoch.number).collect();
    Ok(Context { epoch: registry.newest().number, moves: rollout::moves(registry), waiting, defined })
}

fn with_context(mut value: Value, tools: &Tools, context: &Context) -> Value {
    let registry = &tools.definitions.registry;
    value["epoch"] = json!(context.epoch);
    value["moves"] = context.moves.iter().map(Move::json).collect();
    value["unknown_epoch"] =
        json!(context.waiting.as_ref().map(|all| all.iter().map(|waiting| waiting.json(registry)).collect::<Vec<_>>()));
    value
}
