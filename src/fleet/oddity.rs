//! Legal things that few readers expect: every record with one lands.

/// A legal oddity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)] // the table says what each is
pub enum Oddity {
    UnknownFields,
    DuplicateFields,
    PaddedVarints,
    WideVarint,
    VersionLast,
    NotUtf8,
    ShortAddress,
    TwoFrames,
    EmptyEnvelope,
}

/// What there is to know about an oddity.
#[derive(Debug)]
struct Facts {
    oddity: Oddity,
    name: &'static str,
    about: &'static str,
}

static ODDITIES: [Facts; 9] = [
    Facts {
        oddity: Oddity::UnknownFields,
        name: "unknown_fields",
        about: "fields of every wire type that no layout has",
    },
    Facts {
        oddity: Oddity::DuplicateFields,
        name: "duplicate_fields",
        about: "fields sent twice; the last one counts",
    },
    Facts { oddity: Oddity::PaddedVarints, name: "padded_varints", about: "varints of ten bytes for small numbers" },
    Facts {
        oddity: Oddity::WideVarint,
        name: "wide_varint",
        about: "a uint32 of more than 32 bits; the low ones count",
    },
    Facts { oddity: Oddity::VersionLast, name: "version_last", about: "`schema_version` after all other fields" },
    Facts { oddity: Oddity::NotUtf8, name: "not_utf8", about: "a text that isn't UTF-8" },
    Facts { oddity: Oddity::ShortAddress, name: "short_address", about: "an address of 4 bytes" },
    Facts { oddity: Oddity::TwoFrames, name: "two_frames", about: "a message of two envelopes" },
    Facts {
        oddity: Oddity::EmptyEnvelope,
        name: "empty_envelope",
        about: "a message that is an envelope without records",
    },
];

impl Oddity {
    /// The name on the command line.
    ///
    /// # Panics
    /// Never: every oddity is in the table.
    #[must_use]
    pub fn name(self) -> &'static str {
        ODDITIES.iter().find(|f| f.oddity == self).expect("every oddity is in the table").name
    }

    /// Every oddity.
    pub fn all() -> impl Iterator<Item = Self> {
        ODDITIES.iter().map(|f| f.oddity)
    }

    /// Whether it is one of a message, not of a record.
    pub(super) fn is_of_message(self) -> bool {
        matches!(self, Self::TwoFrames | Self::EmptyEnvelope)
    }
}

/// Every oddity by name, for the help.
#[must_use]
pub fn list() -> String {
    ODDITIES.iter().map(|f| format!("  {:<22} {}\n", f.name, f.about)).collect()
}
