//! What can go wrong on Kafka's side, with predicates instead of variants.

use rdkafka::{error::KafkaError, types::RDKafkaErrorCode as Code};

use super::context::Reason;

/// A failed exchange with Kafka. Says what was tried, at which brokers, and what came back.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{what} at {brokers}: {cause}{}", hint(*.code, *.right, .cause))]
pub struct Error {
    what: String,
    brokers: String,
    cause: String,
    code: Option<Code>,
    /// What the account needs for it, where that isn't to read the topic.
    right: Option<&'static str>,
}

impl Error {
    pub(super) fn new(what: impl Into<String>, brokers: impl Into<String>, error: &KafkaError) -> Self {
        // The one kind whose code the library has no getter for.
        let code = if let KafkaError::AdminOp(code) = error { Some(*code) } else { error.rdkafka_error_code() };
        let cause = code.map_or_else(|| without_value(error), |code| code.to_string());
        Self { what: what.into(), brokers: brokers.into(), cause, code, right: None }
    }

    /// For what librdkafka has no error of its own.
    pub(crate) fn other(what: impl Into<String>, brokers: impl Into<String>, cause: impl Into<String>) -> Self {
        Self { what: what.into(), brokers: brokers.into(), cause: cause.into(), code: None, right: None }
    }

    /// The same error with the reason that the connection itself reported, which says more than the code.
    pub(super) fn because(mut self, reason: Option<Reason>) -> Self {
        if let Some(Reason { code, text }) = reason.filter(|_| self.is_away()) {
            self.cause = format!("{} ({text})", self.cause);
            // A connection that is refused for its credentials is none, but there is more to say of it.
            let told = code.filter(|code| matches!(code, Code::Authentication | Code::SSL));
            // The library calls some of what goes wrong with TLS a lost connection, by chance or as it comes after the handshake.
            let is_tls = text.contains(ALERT) || text.contains(DISTRUST);
            self.code = told.or(is_tls.then_some(Code::SSL)).or(self.code);
        }
        self
    }

    /// The same error of an account that would need this right.
    pub(super) fn needing(self, right: &'static str) -> Self {
        Self { right: Some(right), ..self }
    }

    /// No broker answers, or not in time: worth another try.
    #[must_use]
    pub fn is_away(&self) -> bool {
        matches!(
            self.code,
            Some(
                Code::BrokerTransportFailure
                    | Code::AllBrokersDown
                    | Code::OperationTimedOut
                    | Code::RequestTimedOut
                    | Code::Resolve
                    | Code::BrokerNotAvailable
                    | Code::LeaderNotAvailable
                    | Code::NotLeaderForPartition
                    | Code::NetworkException
                    // A broker that went while it was asked, and leaders on the move.
                    | Code::DestroyBroker
                    | Code::ReplicaNotAvailable
                    | Code::OffsetNotAvailable
                    | Code::FencedLeaderEpoch
                    | Code::UnknownLeaderEpoch
                    | Code::CoordinatorLoadInProgress
                    | Code::CoordinatorNotAvailable
                    | Code::NotCoordinator
                    | Code::WaitingForCoordinator
                    | Code::Authentication
                    | Code::SSL
            )
        )
    }

    /// The topic doesn't exist, or this account may not see it.
    #[must_use]
    pub fn is_unknown_topic(&self) -> bool {
        matches!(self.code, Some(Code::UnknownTopic | Code::UnknownTopicOrPartition | Code::UnknownPartition))
    }

    /// The account lacks a right.
    #[must_use]
    pub fn is_denied(&self) -> bool {
        matches!(
            self.code,
            Some(Code::TopicAuthorizationFailed | Code::GroupAuthorizationFailed | Code::ClusterAuthorizationFailed)
        )
    }

    /// The group has moved on without this member.
    #[must_use]
    pub fn is_stale_member(&self) -> bool {
        matches!(
            self.code,
            Some(
                Code::IllegalGeneration
                    | Code::UnknownMemberId
                    | Code::RebalanceInProgress
                    | Code::FencedInstanceId
                    | Code::StaleMemberEpoch
                    | Code::FencedMemberEpoch
            )
        )
    }
}

/// What the library says, but for the value of a property, which it would show and which may be a password.
fn without_value(error: &KafkaError) -> String {
    match error {
        KafkaError::ClientConfig(_, _, name, _) => format!(
            "librdkafka doesn't take the property `{name}` of `kafka.properties`, or not that value (not shown: it may hold \
             a secret); give another or take it out: docs/security.md shows which ones each protection needs"
        ),
        error => error.to_string(),
    }
}

/// In a reason: what the TLS library calls a refusal by the other side, and that it refuses itself.
const ALERT: &str = "SSL alert number";
const DISTRUST: &str = "certificate verify failed";

fn hint(code: Option<Code>, right: Option<&'static str>, cause: &str) -> String {
    if let (Some(Code::TopicAuthorizationFailed | Code::ClusterAuthorizationFailed), Some(right)) = (code, right) {
        return format!("; the account needs {right}");
    }
    let hint = match code {
        Some(Code::BrokerTransportFailure | Code::AllBrokersDown | Code::OperationTimedOut) => {
            "; is `kafka.brokers` right and the broker up? A wrong `security.protocol`, password, CA or client certificate \
             looks the same from here"
        }
        Some(Code::Authentication) => "; check `sasl.mechanism`, `sasl.username` and `sasl.password`",
        Some(Code::SSL) if cause.contains(ALERT) => {
            "; does the broker ask for a client certificate? Check `ssl.certificate.location` and `ssl.key.location`, and \
             that its CA vouches for it"
        }
        Some(Code::SSL) if cause.contains(DISTRUST) => {
            "; check `ssl.ca.location`, and that the broker's certificate is for the host of `kafka.brokers`"
        }
        Some(Code::SSL) => "; check `security.protocol`, `ssl.ca.location` and the client certificate",
        Some(Code::UnknownTopic | Code::UnknownTopicOrPartition) => {
            "; create the topic, or let `bootstrap.topics` be on"
        }
        Some(Code::TopicAuthorizationFailed) => "; the account needs READ and DESCRIBE on the topic",
        Some(Code::GroupAuthorizationFailed) => "; the account needs READ on the group",
        Some(Code::FencedInstanceId | Code::UnreleasedInstanceId) => {
            "; another member runs under the same `group.instance.id`"
        }
        _ => "",
    };
    hint.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_the_connection_is_shown_with_an_error_of_the_connection_alone() {
        let away = Error::new("metadata", "b:1", &KafkaError::MetadataFetch(Code::BrokerTransportFailure));
        assert!(away.is_away());
        let reason = |code, text: &str| Some(Reason { code, text: text.into() });
        let text = away.clone().because(reason(None, "connection refused")).to_string();
        assert!(text.contains("(connection refused)") && text.contains("is `kafka.brokers` right"), "{text}");
        let refused = away.because(reason(Some(Code::Authentication), "SASL: no such user"));
        assert!(refused.is_away() && refused.to_string().contains("check `sasl.mechanism`"), "{refused}");

        for (code, reason, setting) in [
            (Some(Code::SSL), "handshake failed: certificate verify failed", "check `ssl.ca.location`, and that"),
            (
                Some(Code::BrokerTransportFailure),
                "error: certificate verify failed",
                "check `ssl.ca.location`, and that",
            ),
            (Some(Code::SSL), "wrong version number", "check `security.protocol`"),
            (None, "bad certificate: SSL alert number 42", "`ssl.certificate.location`"),
            (None, "Disconnected", "A wrong `security.protocol`"),
        ] {
            let away = Error::new("metadata", "b:1", &KafkaError::MetadataFetch(Code::BrokerTransportFailure));
            let refused = away.because(Some(Reason { code, text: reason.into() }));
            assert!(refused.is_away() && refused.to_string().contains(setting), "{refused}");
        }

        let denied = Error::new("commit", "b:1", &KafkaError::ConsumerCommit(Code::GroupAuthorizationFailed));
        assert!(denied.is_denied() && !denied.is_away());
        let text = denied.because(reason(None, "connection refused")).to_string();
        assert!(!text.contains("refused"), "{text}");
    }

    #[test]
    fn the_code_of_an_admin_call_counts_as_any_other() {
        let denied = Error::new("creation", "b:1", &KafkaError::AdminOp(Code::TopicAuthorizationFailed));
        assert!(denied.is_denied() && denied.to_string().contains("READ and DESCRIBE"), "{denied}");
        let text = denied.needing("CREATE on the topic").to_string();
        assert!(text.ends_with("; the account needs CREATE on the topic"), "{text}");
        assert!(Error::new("creation", "b:1", &KafkaError::AdminOp(Code::RequestTimedOut)).is_away());
    }

    #[test]
    fn a_property_that_is_refused_is_named_without_its_value() {
        for (name, value) in [("sasl.pasword", "hunter2"), ("session.timeout.ms", "hunter2"), ("acks", "hunter2")] {
            let refused = rdkafka::ClientConfig::new().set(name, value).create_native_config().err().expect("refused");
            let text = Error::new("client", "b:1", &refused).to_string();
            assert!(text.contains(&format!("`{name}` of `kafka.properties`")) && !text.contains("hunter2"), "{text}");
        }
    }

    #[test]
    fn a_lost_generation_is_told_from_a_lost_broker() {
        let stale = Error::new("commit", "b:1", &KafkaError::ConsumerCommit(Code::IllegalGeneration));
        assert!(stale.is_stale_member() && !stale.is_away());
    }
}
