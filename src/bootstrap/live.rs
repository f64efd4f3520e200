//! What the databases of a pass hold, and whether they can hold what is declared.

use std::collections::HashMap;

use tracing::warn;

use super::{catalogue::Catalogue, error::Error, manifest::Kind, pass::Controller, platform::Platform, topics::Topics};

impl<T: Topics> Controller<'_, T> {
    /// What the databases hold, by name.
    pub(super) async fn catalogues(&self, platform: Platform) -> Result<HashMap<String, Catalogue>, Error> {
        let mut catalogues = HashMap::new();
        for database in &self.definitions.manifest.databases {
            let name = self.parameters.name(&database.name);
            if !catalogues.contains_key(name) {
                let catalogue = Catalogue::read(self.client, name).await?;
                check_database(name, &catalogue, platform)?;
                catalogues.insert(name.to_owned(), catalogue);
            }
        }
        if self.definitions.objects.iter().any(|object| object.entry.kind == Kind::Role) {
            self.add_roles(&mut catalogues).await?;
        }
        Ok(catalogues)
    }

    /// Of a role the server shows the name alone: what it was given is what the ledger says.
    async fn add_roles(&self, catalogues: &mut HashMap<String, Catalogue>) -> Result<(), Error> {
        let roles = Catalogue::roles(self.client).await?;
        let recorded = self.recorded().await.unwrap_or_else(|error| {
            warn!("the ledger can't be read, so that the rights of all roles are written anew: {error}");
            None
        });
        let mut recorded = recorded.unwrap_or_default();
        recorded.retain(|row| row.kind == Kind::Role.name());
        for (database, catalogue) in catalogues {
            catalogue.roles.clone_from(&roles);
            let own = recorded.iter().filter(|row| row.database == *database);
            catalogue.asserted = own.map(|row| (row.object.clone(), row.checksum.clone())).collect();
        }
        Ok(())
    }
}

/// A table that is created in a database of another engine would be another table.
pub(super) fn check_database(name: &str, catalogue: &Catalogue, platform: Platform) -> Result<(), Error> {
    match &catalogue.database_engine {
        Some(live) if !platform.takes_database(live) => {
            Err(Error::DatabaseEngine { name: name.to_owned(), live: live.clone(), platform })
        }
        _ => Ok(()),
    }
}
