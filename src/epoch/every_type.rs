//! One text of every column type, in the server's own spelling, for tests that go through all of them.

/// A type as a message names it, without what stands in its parentheses, and its text.
pub(crate) const EVERY_TYPE: [(&str, &str); 18] = [
    ("UInt8", "UInt8"),
    ("UInt16", "UInt16"),
    ("UInt32", "UInt32"),
    ("UInt64", "UInt64"),
    ("Int8", "Int8"),
    ("Int16", "Int16"),
    ("Int32", "Int32"),
    ("Int64", "Int64"),
    ("Float32", "Float32"),
    ("Float64", "Float64"),
    ("Bool", "Bool"),
    ("String", "String"),
    ("LowCardinality(String)", "LowCardinality(String)"),
    ("DateTime", "DateTime"),
    ("DateTime64(3)", "DateTime64(3)"),
    ("DateTime64(9)", "DateTime64(9, 'UTC')"),
    ("Enum8", "Enum8('' = 0)"),
    ("Enum16", "Enum16('' = 0)"),
];
