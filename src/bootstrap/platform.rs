//! What kind of server the definitions are rendered for.

use std::fmt;

/// A kind of server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Platform {
    /// Servers of one's own with Keeper: replicated tables in a replicated database.
    SelfHosted,
    /// ClickHouse Cloud: replicated tables in its shared database.
    Cloud,
    /// One server without Keeper: plain tables. Only ever used when it is asked for by name.
    Single,
}

impl Platform {
    /// Every platform.
    pub const ALL: [Self; 3] = [Self::SelfHosted, Self::Cloud, Self::Single];

    /// The name in the settings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SelfHosted => "self_hosted",
            Self::Cloud => "cloud",
            Self::Single => "single",
        }
    }

    /// Whether tables are replicated, by whatever means.
    #[must_use]
    pub const fn is_replicated(self) -> bool {
        !matches!(self, Self::Single)
    }

    /// Whether a database of that engine can hold what is declared.
    #[must_use]
    pub fn takes_database(self, engine: &str) -> bool {
        match self {
            Self::SelfHosted => engine == "Replicated",
            Self::Cloud => matches!(engine, "Shared" | "Replicated"),
            Self::Single => matches!(engine, "Atomic" | "Ordinary"),
        }
    }

    /// The database engine that is declared, for messages.
    #[must_use]
    pub const fn database_engine(self) -> &'static str {
        match self {
            Self::SelfHosted => "Replicated",
            Self::Cloud => "Shared",
            Self::Single => "Atomic",
        }
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
