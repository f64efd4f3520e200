//! What the server's error codes mean for whoever sent the statement. The one table of codes.

/// What to do about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// It may pass: hold what was sent and send the same again. What isn't known is of this class, for nothing is lost
    /// by it.
    Retry,
    /// It is about the data: some row in the block can't be taken, the others can. Only believable while the table's
    /// columns are as declared, since the server casts what it can and complains of the rest with these same codes.
    Split,
    /// Table, column or type isn't as declared: hold, say so, and look again.
    Schema,
    /// It won't pass without a person: credentials, rights, settings.
    Fatal,
}

/// A code, the server's own symbol for it, and its class.
pub type Code = (i32, &'static str, Class);

/// The codes that are known, ascending. Others are [`Class::Retry`].
pub const KNOWN: &[Code] = &[
    (6, "CANNOT_PARSE_TEXT", Class::Split),
    (8, "THERE_IS_NO_COLUMN", Class::Schema),
    (10, "NOT_FOUND_COLUMN_IN_BLOCK", Class::Schema),
    (16, "NO_SUCH_COLUMN_IN_TABLE", Class::Schema),
    (20, "NUMBER_OF_COLUMNS_DOESNT_MATCH", Class::Schema),
    (27, "CANNOT_PARSE_INPUT_ASSERTION_FAILED", Class::Split),
    // The body was cut on the way, or spoilt.
    (33, "CANNOT_READ_ALL_DATA", Class::Retry),
    (38, "CANNOT_PARSE_DATE", Class::Split),
    (40, "CHECKSUM_DOESNT_MATCH", Class::Retry),
    (41, "CANNOT_PARSE_DATETIME", Class::Split),
    // A Native block has one type per column, so these two are about the column and never about one row.
    (43, "ILLEGAL_TYPE_OF_ARGUMENT", Class::Schema),
    (44, "ILLEGAL_COLUMN", Class::Schema),
    (47, "UNKNOWN_IDENTIFIER", Class::Schema),
    // An INSERT into an engine that takes none, for instance a view of the table's name.
    (48, "NOT_IMPLEMENTED", Class::Schema),
    (50, "UNKNOWN_TYPE", Class::Schema),
    (53, "TYPE_MISMATCH", Class::Schema),
    (60, "UNKNOWN_TABLE", Class::Schema),
    (62, "SYNTAX_ERROR", Class::Fatal),
    (73, "UNKNOWN_FORMAT", Class::Fatal),
    (81, "UNKNOWN_DATABASE", Class::Schema),
    (115, "UNKNOWN_SETTING", Class::Fatal),
    (131, "TOO_LARGE_STRING_SIZE", Class::Split),
    (159, "TIMEOUT_EXCEEDED", Class::Retry),
    (160, "TOO_SLOW", Class::Retry),
    // A server in read-only mode refuses every write; a profile that says so for good looks the same.
    (164, "READONLY", Class::Retry),
    (192, "UNKNOWN_USER", Class::Fatal),
    (193, "WRONG_PASSWORD", Class::Fatal),
    (194, "REQUIRED_PASSWORD", Class::Fatal),
    (195, "IP_ADDRESS_NOT_ALLOWED", Class::Fatal),
    (198, "DNS_ERROR", Class::Retry),
    (201, "QUOTA_EXCEEDED", Class::Retry),
    (202, "TOO_MANY_SIMULTANEOUS_QUERIES", Class::Retry),
    (203, "NO_FREE_CONNECTION", Class::Retry),
    (209, "SOCKET_TIMEOUT", Class::Retry),
    (210, "NETWORK_ERROR", Class::Retry),
    (218, "TABLE_IS_DROPPED", Class::Schema),
    (225, "NO_ZOOKEEPER", Class::Retry),
    (236, "ABORTED", Class::Retry),
    (241, "MEMORY_LIMIT_EXCEEDED", Class::Retry),
    (242, "TABLE_IS_READ_ONLY", Class::Retry),
    (243, "NOT_ENOUGH_SPACE", Class::Retry),
    (252, "TOO_MANY_PARTS", Class::Retry),
    (271, "CANNOT_DECOMPRESS", Class::Retry),
    (279, "ALL_CONNECTION_TRIES_FAILED", Class::Retry),
    (285, "TOO_FEW_LIVE_REPLICAS", Class::Retry),
    (286, "UNSATISFIED_QUORUM_FOR_PREVIOUS_WRITE", Class::Retry),
    (291, "DATABASE_ACCESS_DENIED", Class::Fatal),
    (319, "UNKNOWN_STATUS_OF_INSERT", Class::Retry),
    (321, "VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE", Class::Split),
    (349, "CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN", Class::Split),
    (394, "QUERY_WAS_CANCELLED", Class::Retry),
    (439, "CANNOT_SCHEDULE_TASK", Class::Retry),
    (452, "SETTING_CONSTRAINT_VIOLATION", Class::Fatal),
    (469, "VIOLATED_CONSTRAINT", Class::Split),
    (473, "DEADLOCK_AVOIDED", Class::Retry),
    (497, "ACCESS_DENIED", Class::Fatal),
    (499, "S3_ERROR", Class::Retry),
    (516, "AUTHENTICATION_FAILED", Class::Fatal),
    (691, "UNKNOWN_ELEMENT_OF_ENUM", Class::Split),
    (745, "SERVER_OVERLOADED", Class::Retry),
    (999, "KEEPER_EXCEPTION", Class::Retry),
    (1000, "POCO_EXCEPTION", Class::Retry),
    (1001, "STD_EXCEPTION", Class::Retry),
    (1002, "UNKNOWN_EXCEPTION", Class::Retry),
];

impl Class {
    /// The class of an error code.
    #[must_use]
    pub fn of(code: i32) -> Self {
        find(code).map_or(Self::Retry, |(_, _, class)| *class)
    }
}

/// The server's symbol for a code, where it is known here.
#[must_use]
pub(super) fn symbol(code: i32) -> Option<&'static str> {
    find(code).map(|(_, symbol, _)| *symbol)
}

fn find(code: i32) -> Option<&'static Code> {
    KNOWN.binary_search_by_key(&code, |(code, ..)| *code).ok().map(|at| &KNOWN[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_stands_once_and_is_found() {
        assert!(KNOWN.windows(2).all(|pair| pair[0].0 < pair[1].0), "ascending, each once");
        for (code, name, class) in KNOWN {
            assert_eq!((Class::of(*code), symbol(*code)), (*class, Some(*name)));
        }
    }

    #[test]
    fn what_says_nothing_about_the_data_is_never_split() {
        for code in [159, 164, 202, 209, 210, 241, 242, 243, 252, 285, 319, 999, 1000, 1001, 1002] {
            assert_eq!(Class::of(code), Class::Retry, "{code}");
        }
        for code in [0, -1, 7, 12_345, i32::MAX] {
            assert_eq!(Class::of(code), Class::Retry, "unknown {code}");
        }
    }

    #[test]
    fn the_classes_hold_what_they_promise() {
        let of = |class| KNOWN.iter().filter(|k| k.2 == class).map(|k| k.0).collect::<Vec<_>>();
        assert_eq!(of(Class::Split), [6, 27, 38, 41, 131, 321, 349, 469, 691]);
        assert_eq!(of(Class::Schema), [8, 10, 16, 20, 43, 44, 47, 48, 50, 53, 60, 81, 218]);
        assert_eq!(of(Class::Fatal), [62, 73, 115, 192, 193, 194, 195, 291, 452, 497, 516]);
    }
}
