//! Properties of librdkafka's, as far as it can tell without a connection that it doesn't take them.

use std::collections::BTreeMap;

use rdkafka::{ClientConfig, error::KafkaError, types::RDKafkaConfRes::RD_KAFKA_CONF_UNKNOWN};

use super::model::Secret;

/// The names that are refused, each with why and what to do. What librdkafka says is not passed on: it quotes the value.
pub(super) fn refused(properties: &BTreeMap<String, Secret>) -> impl Iterator<Item = (&str, &'static str)> {
    properties.iter().filter_map(|(name, value)| {
        // A name that is no property at all was refused before.
        let error = ClientConfig::new().set(name, value.reveal()).create_native_config().err()?;
        Some((name.as_str(), why(&error)))
    })
}

fn why(error: &KafkaError) -> &'static str {
    match error {
        KafkaError::ClientConfig(RD_KAFKA_CONF_UNKNOWN, ..) => {
            "librdkafka has no property of that name; its CONFIGURATION.md lists all, and docs/security.md those for \
             encryption and credentials"
        }
        KafkaError::ClientConfig(_, said, ..) if said.contains("not supported in this build") => {
            "it is not supported in this build; take it out, and see docs/security.md for what is"
        }
        _ => {
            "librdkafka doesn't take its value (not shown: it may hold a secret); its CONFIGURATION.md says what each \
             property can be"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_librdkafka_does_not_take_is_found_without_its_value() {
        for (name, value, expected) in [
            ("sasl.pasword", "hunter2", "no property of that name"),
            ("sasl.oauthbearer.client.secret", "hunter2", "not supported in this build"),
            ("session.timeout.ms", "hunter2", "doesn't take its value"),
            ("security.protocol", "hunter2", "doesn't take its value"),
            ("sasl.password", "hun\0ter2", "doesn't take its value"),
        ] {
            let properties = BTreeMap::from([(name.to_owned(), Secret::new(value))]);
            let found: Vec<_> = refused(&properties).collect();
            let [(found, why)] = found.as_slice() else { panic!("{name}: {found:?}") };
            assert!(*found == name && why.contains(expected) && !why.contains("hunter2"), "{found}: {why}");
        }
    }

    #[test]
    fn what_librdkafka_takes_is_not_spoken_of() {
        let properties = [("sasl.password", "hunter2"), ("auto.offset.reset", "error"), ("ssl.ca.location", "/ca")];
        let properties = properties.map(|(name, value)| (name.to_owned(), Secret::new(value))).into();
        assert_eq!(refused(&properties).count(), 0);
    }
}
