//! Whether the server takes what every insert carries, asked before the first one.
//!
//! A setting that is refused with an insert would be told by the code of whatever could not be parsed, as though a row were
//! at fault. `SELECT 1` has no rows: what it is refused for is the setting.

use super::{
    Class, Client, Error, KNOWN,
    error::{Kind, READONLY},
    insert::SETTINGS,
};

impl Client {
    /// Asks whether inserts may carry their settings: those of the configuration, and those that this service needs.
    ///
    /// # Errors
    /// Names the first setting that is refused. Or the server can't be asked.
    pub async fn check_insert_settings(&self) -> Result<(), Error> {
        let configured = self.insert_settings.iter().map(|(name, value)| (name.as_str(), value.as_str(), true));
        // How the body is packed is no setting.
        let own = SETTINGS.iter().filter(|(name, _)| *name != "decompress").map(|(name, value)| (*name, *value, false));
        let all: Vec<(&str, &str, bool)> = configured.chain(own).collect();
        let together: Vec<(&str, &str)> = all.iter().map(|(name, value, _)| (*name, *value)).collect();
        let Err(refusal) = self.execute("SELECT 1", &together).await else { return Ok(()) };
        if !is_about_a_setting(&refusal) {
            return Err(refusal);
        }
        for (name, value, is_configured) in all {
            match self.execute("SELECT 1", &[(name, value)]).await {
                Err(error) if is_about_a_setting(&error) => {
                    let (code, message) = (error.code().unwrap_or_default(), error.message().unwrap_or_default());
                    let kind = Kind::Setting { is_configured, code, message: message.to_owned() };
                    let table = if is_configured { "clickhouse.insert_settings." } else { "" };
                    return Err(Error::new(self.host(), &format!("{table}{name} = {value}"), kind));
                }
                answer => answer?,
            }
        }
        // Each is taken alone, and not together.
        Err(refusal)
    }
}

/// Whether a question without rows and tables was refused for a setting. What may pass is not that, but for a profile that
/// forbids settings as a read-only server forbids writing.
fn is_about_a_setting(error: &Error) -> bool {
    let Some(code) = error.code() else { return false };
    let passes = KNOWN.iter().any(|(known, _, class)| *known == code && *class == Class::Retry);
    let is_credentials = matches!(code, 192..=195 | 516);
    code == READONLY || !passes && !is_credentials
}
