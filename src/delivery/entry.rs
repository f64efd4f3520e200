//! What the group keeps for one partition.

/// An offset of the group and the text beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Everything before it is settled.
    pub offset: i64,
    /// The text; empty for none.
    pub metadata: String,
}
