//! Properties of the operator's that would have no effect: librdkafka takes them without a word.

use crate::config;

/// What of the given properties belongs to a protection that `security.protocol` doesn't ask for, in words; `None` if all
/// have an effect. Credentials that are never sent are no mistake that should show by the broker's refusal alone.
#[must_use]
pub fn ignored(kafka: &config::Kafka) -> Option<String> {
    let protocol = kafka.properties.get("security.protocol").map_or("plaintext", |value| value.reveal());
    let used = protocol.to_ascii_lowercase();
    let (sasl, tls) = (used.starts_with("sasl_"), used.ends_with("ssl"));
    let without_effect = |name: &str| name.starts_with("sasl.") && !sasl || name.starts_with("ssl.") && !tls;
    let names = kafka.properties.keys().filter(|name| without_effect(name));
    let names = names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    (!names.is_empty()).then(|| {
        format!(
            "in `kafka.properties`, {names} has no effect: `security.protocol` is `{protocol}`; it can be `ssl`, `sasl_ssl` \
             or `sasl_plaintext`"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Framing, Kafka, Secret};

    fn of(properties: &[(&str, &str)]) -> Option<String> {
        let properties = properties.iter().map(|(name, value)| ((*name).to_owned(), Secret::new(*value))).collect();
        let text = || "x".to_owned();
        ignored(&Kafka { brokers: text(), topic: text(), group: text(), framing: Framing::Delimited, properties })
    }

    #[test]
    fn what_the_protocol_does_not_use_is_named_without_its_value() {
        let text = of(&[("sasl.password", "hunter2"), ("ssl.ca.location", "/ca")]).expect("neither is used");
        assert!(
            text.contains("`sasl.password`, `ssl.ca.location` has no effect") && text.contains("`plaintext`"),
            "{text}"
        );
        assert!(!text.contains("hunter2"), "{text}");
        let text =
            of(&[("security.protocol", "ssl"), ("sasl.username", "u"), ("ssl.ca.location", "/ca")]).expect("one");
        assert!(text.contains("`sasl.username` has no effect") && text.contains("is `ssl`"), "{text}");
    }

    #[test]
    fn what_is_used_is_not_spoken_of() {
        assert_eq!(of(&[("linger.ms", "5")]), None);
        assert_eq!(of(&[("security.protocol", "SASL_SSL"), ("sasl.username", "u"), ("ssl.ca.location", "/ca")]), None);
        assert_eq!(of(&[("security.protocol", "sasl_plaintext"), ("sasl.username", "u")]), None);
        assert_eq!(of(&[("security.protocol", "ssl"), ("ssl.ca.location", "/ca")]), None);
    }
}
