//! Which platform a server is, and whether it has what that platform needs.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{error::Error, platform::Platform};
use crate::{clickhouse::Client, config};

/// What a server says about itself, in one query.
const FACTS: &str = "\
SELECT 'setting' AS fact, name, value FROM system.settings WHERE name = 'cloud_mode' \
UNION ALL SELECT 'macro' AS fact, macro AS name, substitution AS value FROM system.macros \
UNION ALL SELECT 'cluster' AS fact, cluster AS name, toString(uniqExact(host_name, port)) AS value FROM system.clusters GROUP BY cluster \
UNION ALL SELECT 'directory' AS fact, name, type AS value FROM system.user_directories \
UNION ALL SELECT 'keeper' AS fact, name, engine AS value FROM system.tables WHERE database = 'system' AND name = 'zookeeper'";

/// What a server says about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Facts {
    pub is_cloud: bool,
    pub has_keeper: bool,
    pub macros: BTreeMap<String, String>,
    /// Clusters and how many servers each has.
    pub clusters: BTreeMap<String, u64>,
    /// The kinds of places where users and roles are kept.
    pub directories: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Fact {
    fact: String,
    name: String,
    value: String,
}

/// The platform that is asked for, once the server is seen to be fit for it.
pub(super) async fn platform(client: &Client, asked: config::Platform) -> Result<Platform, Error> {
    match asked {
        config::Platform::Single => return Ok(Platform::Single),
        config::Platform::Cloud => return Ok(Platform::Cloud),
        config::Platform::Auto | config::Platform::SelfHosted => {}
    }
    let facts = Facts::of(client.query(FACTS, &[]).await?);
    let is_auto = asked == config::Platform::Auto;
    let mut hosts = client.host().split(',').map(|host| host.rsplit_once(':').map_or(host, |(name, _)| name));
    if is_auto && (facts.is_cloud || hosts.any(|host| host.ends_with(".clickhouse.cloud"))) {
        return Ok(Platform::Cloud);
    }
    let missing = facts.missing();
    if missing.is_empty() { Ok(Platform::SelfHosted) } else { Err(Error::Platform { missing }) }
}

impl Facts {
    pub(super) fn of(rows: Vec<Fact>) -> Self {
        let mut facts = Self::default();
        for Fact { fact, name, value } in rows {
            match fact.as_str() {
                "setting" => facts.is_cloud = matches!(value.as_str(), "1" | "true"),
                "keeper" => facts.has_keeper = true,
                "macro" => drop(facts.macros.insert(name, value)),
                "cluster" => drop(facts.clusters.insert(name, value.parse().unwrap_or(0))),
                "directory" => facts.directories.push(value),
                _ => {}
            }
        }
        facts
    }

    /// What a self-hosted server lacks, each by name.
    pub(super) fn missing(&self) -> Vec<String> {
        let mut missing = Vec::new();
        if !self.has_keeper {
            missing.push("Keeper (<zookeeper> in the server's configuration)".to_owned());
        }
        for name in ["cluster", "shard", "replica"] {
            if !self.macros.contains_key(name) {
                missing.push(format!("the macro {{{name}}} (<macros>)"));
            }
        }
        let cluster = self.macros.get("cluster");
        let servers = cluster.and_then(|name| self.clusters.get(name));
        match (cluster, servers) {
            (Some(name), None) => {
                missing.push(format!("a cluster `{name}`, which {{cluster}} names (<remote_servers>)"))
            }
            (None, _) if self.clusters.is_empty() => missing.push("a cluster (<remote_servers>)".to_owned()),
            _ => {}
        }
        let outside = |kind: &String| matches!(kind.as_str(), "local_directory" | "local directory");
        let in_keeper = |kind: &String| kind == "replicated";
        if servers.is_some_and(|servers| *servers > 1)
            && self.directories.iter().any(outside)
            && !self.directories.iter().any(in_keeper)
        {
            missing.push(
                "users and roles in Keeper (<user_directories><replicated>): they are kept on each server".to_owned(),
            );
        }
        missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(edit: impl Fn(&mut Vec<(&'static str, &'static str, &'static str)>)) -> Facts {
        // As a server with Keeper, two replicas and a replicated user directory answered.
        let mut rows = vec![
            ("setting", "cloud_mode", "0"),
            ("macro", "cluster", "main"),
            ("macro", "replica", "r1"),
            ("macro", "shard", "01"),
            ("cluster", "main", "2"),
            ("cluster", "default", "1"),
            ("directory", "users_xml", "users_xml"),
            ("directory", "replicated", "replicated"),
            ("keeper", "zookeeper", "SystemZooKeeper"),
        ];
        edit(&mut rows);
        let fact = |(fact, name, value): (&str, &str, &str)| Fact {
            fact: fact.to_owned(),
            name: name.to_owned(),
            value: value.to_owned(),
        };
        Facts::of(rows.into_iter().map(fact).collect())
    }

    #[test]
    fn a_whole_server_lacks_nothing() {
        assert_eq!(facts(|_| ()).missing(), [""; 0]);
        assert!(!facts(|_| ()).is_cloud && facts(|rows| rows[0].2 = "1").is_cloud);
    }

    #[test]
    fn every_missing_piece_is_named() {
        let without = |kind: &'static str, name: &'static str| {
            facts(move |rows| rows.retain(|r| !(r.0 == kind && r.1 == name))).missing()
        };
        for (kind, name, expected) in [
            ("keeper", "zookeeper", "Keeper"),
            ("macro", "cluster", "the macro {cluster}"),
            ("macro", "shard", "the macro {shard}"),
            ("macro", "replica", "the macro {replica}"),
            ("cluster", "main", "a cluster `main`"),
        ] {
            let missing = without(kind, name);
            assert!(missing.len() == 1 && missing[0].starts_with(expected), "{missing:?}");
        }
        let bare = Facts::default().missing();
        assert_eq!(bare.len(), 5, "{bare:?}");
    }

    #[test]
    fn users_of_a_cluster_are_kept_in_keeper() {
        let local = |servers: &'static str| {
            facts(move |rows| {
                rows[4].2 = servers;
                rows[7] = ("directory", "local_directory", "local_directory");
            })
        };
        assert_eq!(local("1").missing(), [""; 0], "one server has nobody to differ from");
        assert!(local("2").missing()[0].starts_with("users and roles in Keeper"));
    }
}
