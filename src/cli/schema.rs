//! `schema plan`, `schema apply`, `schema status`.

use std::process::ExitCode;

use clap::Args;

use super::{
    Failure, output, schema_text,
    settings::{Scope, Settings},
};
use crate::{
    bootstrap::{Action, Controller, Definitions, Error, Parameters, State, Stop},
    clickhouse::Client,
    config::Config,
    kafka::Admin,
    pipeline::Asked,
    telemetry,
};

/// Look at the schema, or bring it about: databases, tables, views and topics
#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Show what `apply` would do, and change nothing
    #[command(
        after_help = "Exit codes: 0 nothing to do, 2 something to create, to alter or refused, 1 error, or Kafka could not be asked."
    )]
    Plan(Plan),
    /// Bring everything about, under the same lease as `run`
    ///
    /// Creates what is absent and adds what is lacking. What is otherwise than declared is named and left alone.
    #[command(
        after_help = "Exit codes: 0 converged, 1 failed, 2 converged but for what is refused, 3 another process has the \
lease: nothing was applied."
    )]
    Apply(Apply),
    /// Show what was applied, and from which release
    #[command(after_help = "Exit codes: 0 done, 1 error.")]
    Status(Plan),
}

#[derive(Debug, Args)]
pub(super) struct Plan {
    /// Print one JSON value
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    settings: Settings<Bootstrap>,
}

#[derive(Debug, Args)]
pub(super) struct Apply {
    /// Carry out differences that lose nothing: wider types, labels of an enum, time zones, TTL, settings
    #[arg(long)]
    pub allow_drift: bool,
    #[command(flatten)]
    pub plan: Plan,
}

/// The settings of the schema.
#[derive(Debug, Clone)]
struct Bootstrap;

impl Scope for Bootstrap {
    fn heeds(key: &str) -> bool {
        const OTHERS: &[&str] = &[
            "kafka.group",
            "kafka.framing",
            "clickhouse.insert_timeout",
            "clickhouse.writers",
            "clickhouse.insert_settings",
            "delivery",
            "workers",
            "shutdown_timeout",
            "http.listen",
        ];
        !OTHERS.contains(&key) && !key.starts_with("batch.") && !key.starts_with("limits.")
    }
}

pub(super) fn run(command: Command) -> Result<ExitCode, Failure> {
    // 2 says something else here than that the start was refused.
    let done = match command {
        Command::Plan(plan) => with(plan, async |json, tools| tools.plan(json).await),
        Command::Apply(Apply { allow_drift, plan }) => {
            with(plan, async |json, tools| tools.apply(json, allow_drift).await)
        }
        Command::Status(plan) => with(plan, async |json, tools| tools.status(json).await),
    };
    done.map_err(|failure| failure.with_code(Failure::FAILED))
}

/// What the commands work with.
pub(super) struct Tools {
    pub config: Config,
    pub client: Client,
    pub admin: Admin,
    pub definitions: Definitions,
    pub parameters: Parameters,
}

pub(super) fn with(
    plan: Plan,
    work: impl AsyncFnOnce(bool, &Tools) -> Result<ExitCode, Failure>,
) -> Result<ExitCode, Failure> {
    let config = plan.settings.load()?.config;
    let failed = |error: &dyn std::error::Error| Failure::failed(error);
    let definitions = Definitions::configured(&config).map_err(|error| failed(&error))?;
    let parameters = Parameters::of(&config, &definitions.manifest);
    let client = Client::new(&config.clickhouse).map_err(|error| failed(&error))?;
    let admin = Admin::new(&config.kafka).map_err(|error| failed(&error))?;
    let tools = Tools { config, client, admin, definitions, parameters };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| failed(&error))?;
    runtime.block_on(work(plan.json, &tools))
}

impl Tools {
    pub(super) fn controller(&self) -> Controller<'_, Admin> {
        Controller::new(&self.client, &self.admin, &self.definitions, &self.parameters, self.config.bootstrap)
    }

    async fn plan(&self, json: bool) -> Result<ExitCode, Failure> {
        let plan = self.controller().plan().await.map_err(|error| failure(&error))?;
        if json {
            output::print_json(&plan.json())?;
        } else {
            output::print(&schema_text::plan(&plan))?;
        }
        // What could not be asked may well be something to do.
        if self.config.bootstrap.topics && plan.topics_skipped.is_some() {
            return Ok(ExitCode::from(Failure::FAILED));
        }
        let nothing = plan.objects.len() == plan.count(Action::Unchanged);
        Ok(if nothing { ExitCode::SUCCESS } else { ExitCode::from(2) })
    }

    async fn apply(&self, json: bool, allow_drift: bool) -> Result<ExitCode, Failure> {
        // Ended in the middle, it would leave the lease to lapse.
        let asked = Asked::listen().map_err(|error| Failure::failed(&error))?;
        let working = telemetry::spinner("applying the schema");
        let controller = self.controller().stopped_by(Stop::on(asked.seen()));
        let report = controller.allow_drift(allow_drift).pass().await;
        working.finish_and_clear();
        if json {
            output::print_json(&report.json())?;
        } else {
            output::print(&schema_text::applied(&report))?;
        }
        match (&report.error, report.state) {
            (Some(Error::Occupied(_)), _) => Ok(ExitCode::from(3)),
            (Some(error), _) => Err(failure(error)),
            (None, State::Converged) if report.count(Action::Refused) > 0 => Ok(ExitCode::from(2)),
            (None, _) => Ok(ExitCode::SUCCESS),
        }
    }

    async fn status(&self, json: bool) -> Result<ExitCode, Failure> {
        let recorded = self.controller().recorded().await.map_err(|error| failure(&error))?;
        if json {
            output::print_json(&serde_json::json!(recorded.unwrap_or_default()))?;
        } else {
            output::print(&schema_text::status(recorded.as_deref(), self.client.database()))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn failure(error: &Error) -> Failure {
    Failure::failed(error)
}
