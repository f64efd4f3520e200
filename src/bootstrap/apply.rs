//! Brings one object to its declaration, or says what that would take.

use tracing::{debug, error, info, warn};

use super::{
    catalogue::Catalogue,
    compare::{Comparison, alter},
    ddl::Ddl,
    definitions::Object,
    drift::{Drift, Part, Remedy},
    error::Error,
    lease::Claim,
    outcome::{Action, Outcome},
    planner::{Need, Planner},
    render::Statement,
    stop::Stop,
};
use crate::clickhouse;

/// Somebody else was faster, or a detached table has the name.
const EXISTS: [i32; 2] = [57, 82];

/// Works on one object after the other.
pub(super) struct Apply<'a> {
    pub planner: &'a Planner<'a>,
    pub ddl: Ddl<'a>,
    /// Whether drift that can be carried out is.
    pub allow_drift: bool,
    /// Nothing is sent.
    pub dry: bool,
    /// Without it nothing is sent either, unless it is for the lease itself.
    pub claim: Option<&'a Claim>,
    pub stop: &'a Stop,
}

impl Apply<'_> {
    /// Does what an object needs.
    ///
    /// # Errors
    /// What stands in the way of every object: the server doesn't answer, the lease has lapsed. What is about this object
    /// alone is in the outcome.
    pub(super) async fn object(
        &self,
        object: &Object,
        statement: &Statement,
        catalogue: &Catalogue,
    ) -> Result<Outcome, Error> {
        let mut outcome =
            Outcome::unchanged(&statement.id, statement.kind, statement.full_name(), statement.checksum.clone());
        let done = match self.planner.need(object, statement, catalogue) {
            Need::Create => self.create(object, statement, &mut outcome).await,
            Need::Replace(why) => self.replace(object, statement, why, &mut outcome).await,
            Need::Assert { statements, is_there } => self.assert(statement, statements, is_there, &mut outcome).await,
            Need::Compare(found) => self.alter(object, statement, found, &mut outcome).await,
        };
        if let Err(fault) = done {
            if fault.stops_the_pass() {
                return Err(fault);
            }
            outcome.action = Action::Skipped;
            outcome.reason = Some(fault.to_string());
        }
        if !self.dry {
            tell(&outcome);
        }
        Ok(outcome)
    }

    async fn create(&self, object: &Object, statement: &Statement, outcome: &mut Outcome) -> Result<(), Error> {
        outcome.action = Action::Created;
        outcome.statements.push(statement.sql.clone());
        if self.dry {
            return Ok(());
        }
        match self.send(statement, &statement.sql).await {
            Err(Error::Statement { name, source }) if source.code().is_some_and(|code| EXISTS.contains(&code)) => {
                let catalogue = self.look(statement).await?;
                if !catalogue.has(&statement.name) {
                    return Err(Error::Hidden { name, source });
                }
                outcome.action = Action::Unchanged;
                outcome.statements.clear();
                match self.planner.need(object, statement, &catalogue) {
                    Need::Compare(found) => Box::pin(self.alter(object, statement, found, outcome)).await,
                    _ => Ok(()),
                }
            }
            Err(fault) => Err(fault),
            // A statement that went through is no proof that the account sees what came of it.
            Ok(()) if !self.look(statement).await?.has(&statement.name) => {
                Err(Error::StillAbsent { name: statement.full_name() })
            }
            Ok(()) => Ok(()),
        }
    }

    async fn replace(
        &self,
        object: &Object,
        statement: &Statement,
        why: Vec<String>,
        outcome: &mut Outcome,
    ) -> Result<(), Error> {
        let sql = statement.replacing();
        outcome.action = Action::Altered;
        outcome.changes = why;
        outcome.statements.push(sql.clone());
        if self.dry {
            return Ok(());
        }
        self.send(statement, &sql).await?;
        match self.planner.need(object, statement, &self.look(statement).await?) {
            Need::Compare(found) if found.drift.is_empty() => Ok(()),
            _ => Err(Error::StillOtherwise { name: statement.full_name() }),
        }
    }

    /// Sends everything about a role: each statement may be sent at any time.
    async fn assert(
        &self,
        statement: &Statement,
        statements: Vec<String>,
        is_there: bool,
        outcome: &mut Outcome,
    ) -> Result<(), Error> {
        outcome.action = if is_there { Action::Altered } else { Action::Created };
        if is_there {
            outcome.changes.push("its rights are written anew".to_owned());
        }
        for sql in statements {
            if !self.dry {
                self.send(statement, &sql).await?;
            }
            outcome.statements.push(sql);
        }
        if self.dry || Catalogue::roles(self.ddl.client).await?.contains(&statement.name) {
            return Ok(());
        }
        Err(Error::StillAbsent { name: statement.name.clone() })
    }

    async fn alter(
        &self,
        object: &Object,
        statement: &Statement,
        found: Comparison,
        outcome: &mut Outcome,
    ) -> Result<(), Error> {
        // A refusal never holds back what can be added.
        let mut refused: Vec<Drift> = Vec::new();
        for addition in &found.additions {
            let sql = alter(&statement.database, &statement.name, &addition.alter);
            if let Err(fault) = self.attempt(statement, sql, &addition.text, outcome).await {
                let remedy = unaltered(fault)?;
                let (part, declared) = (addition.part.clone(), addition.text.clone());
                refused.push(Drift { part, live: String::new(), declared, remedy });
            }
        }
        outcome.columns_added.clone_from(&found.columns_added);
        if refused.iter().any(|drift| matches!(drift.part, Part::Column(_))) {
            outcome.columns_added.clear();
        }
        for drift in &found.drift {
            match &drift.remedy {
                Remedy::Alter(command) if self.allow_drift => {
                    let sql = alter(&statement.database, &statement.name, command);
                    let text = format!("{} {} -> {}", drift.part, shown(&drift.live), shown(&drift.declared));
                    if let Err(fault) = self.attempt(statement, sql, &text, outcome).await {
                        refused.push(Drift { remedy: unaltered(fault)?, ..drift.clone() });
                    }
                }
                _ => refused.push(drift.clone()),
            }
        }
        outcome.extra_columns.clone_from(&found.extra_columns);
        if self.dry || outcome.changes.is_empty() {
            outcome.drift = refused;
        } else {
            self.second_look(object, statement, refused, outcome).await?;
        }
        outcome.action = match (outcome.drift.is_empty(), outcome.changes.is_empty()) {
            (false, _) => Action::Refused,
            (true, false) => Action::Altered,
            (true, true) => Action::Unchanged,
        };
        Ok(())
    }

    /// Sends a statement and notes it, or in a dry run only notes it.
    async fn attempt(
        &self,
        statement: &Statement,
        sql: String,
        text: &str,
        outcome: &mut Outcome,
    ) -> Result<(), Error> {
        if !self.dry {
            self.send(statement, &sql).await?;
        }
        outcome.statements.push(sql);
        outcome.changes.push(text.to_owned());
        Ok(())
    }

    /// An ALTER that went through may have done less than it said: a column of another type may have been there by then,
    /// or its data may not fit.
    async fn second_look(
        &self,
        object: &Object,
        statement: &Statement,
        refused: Vec<Drift>,
        outcome: &mut Outcome,
    ) -> Result<(), Error> {
        let catalogue = self.look(statement).await?;
        let Need::Compare(found) = self.planner.need(object, statement, &catalogue) else {
            return Err(Error::StillAbsent { name: statement.full_name() });
        };
        // The server's own reason says more than that it is still so.
        let reason = |drift: Drift| refused.iter().find(|r| r.part == drift.part).cloned().unwrap_or(drift);
        outcome.drift = found.drift.into_iter().map(reason).collect();
        outcome.drift.extend(refused.iter().filter(|r| found.additions.iter().any(|a| a.part == r.part)).cloned());
        outcome.columns_added.retain(|name| !found.columns_added.contains(name));
        let live = catalogue.tables.get(&statement.name);
        let mutations = live.into_iter().flat_map(|live| &live.mutations);
        outcome.unfinished = mutations.map(|m| format!("{}: {}", m.mutation_id, m.command)).collect();
        Ok(())
    }

    async fn send(&self, statement: &Statement, sql: &str) -> Result<(), Error> {
        if self.claim.is_some_and(|claim| !claim.is_live()) {
            return Err(Error::LeaseLapsed);
        }
        if self.stop.is_asked() {
            return Err(Error::Stopped);
        }
        self.ddl.send(&statement.full_name(), sql).await
    }

    async fn look(&self, statement: &Statement) -> Result<Catalogue, clickhouse::Error> {
        Catalogue::read_one(self.ddl.client, &statement.database, &statement.name).await
    }
}

/// What a refused ALTER leaves behind; the fault itself, when it is about more than this object.
fn unaltered(fault: Error) -> Result<Remedy, Error> {
    if fault.stops_the_pass() {
        Err(fault)
    } else {
        Ok(Remedy::Refused(format!("the server refused to alter it: {fault}")))
    }
}

fn shown(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}

fn tell(outcome: &Outcome) {
    let (object, name) = (&outcome.id, &outcome.name);
    match outcome.action {
        Action::Created => info!(object, name, "created"),
        Action::Altered => info!(object, name, changes = outcome.changes.join("; "), "altered"),
        Action::Unchanged => debug!(object, name, "unchanged"),
        Action::Refused => {
            for drift in &outcome.drift {
                error!(object, name, "refused: {drift}");
            }
        }
        Action::Skipped => error!(object, name, "skipped: {}", outcome.reason.as_deref().unwrap_or("")),
    }
    if !outcome.extra_columns.is_empty() {
        warn!(object, name, columns = outcome.extra_columns.join(", "), "columns that no definition has; left alone");
    }
    for mutation in &outcome.unfinished {
        warn!(object, name, "a change of its data goes on in the background: {mutation}");
    }
}
