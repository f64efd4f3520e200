//! What to do next about an error of the server, and which setting it is about.

/// What goes behind an error with this code, with its semicolon; empty where the server's own words are enough.
pub(super) const fn of_code(code: i32) -> &'static str {
    match code {
        81 => "; is `clickhouse.database` right? With `bootstrap.tables` on, it is created where it is absent",
        164 => "; is the server read-only, or the profile of `clickhouse.user`?",
        192..=194 | 516 => CREDENTIALS,
        195 => "; allow `clickhouse.user` to log in from this machine, or give another account",
        242 => "; a replica that has lost Keeper takes nothing: system.replicas says why",
        243 => "; make room on the server's disks",
        291 | 497 => "; grant it to `clickhouse.user`: ddl/roles lists every right that this service needs",
        _ => "",
    }
}

/// What goes behind a refusal of whatever stands before the server.
pub(super) const fn of_status(status: u16) -> &'static str {
    match status {
        401 | 403 => CREDENTIALS,
        _ => NOT_CLICKHOUSE,
    }
}

const CREDENTIALS: &str = "; check `clickhouse.user` and `clickhouse.password`, or `clickhouse.password_file`";

/// What goes behind a fault of something that doesn't speak as ClickHouse does.
pub(super) const NOT_CLICKHOUSE: &str =
    "; does `clickhouse.url` lead to ClickHouse's HTTP interface (port 8123, with TLS 8443)?";

/// What goes behind a connection that can't be made.
pub(super) const UNREACHABLE: &str = "; is `clickhouse.url` right, and the server up?";

/// What goes behind a certificate that is not trusted.
pub(super) const DISTRUSTED: &str = "; is it the certificate of this host, from a CA that `clickhouse.ca_file` holds or, without it, that the system \
     trusts?";
