//! A block with the token that it goes under.

use std::borrow::Cow;

use crate::lane::Block;

/// How often a block that is acknowledged and not there gets another token. More than once only if the server ends in the same
/// moment again.
const RENEWALS: u32 = 3;

/// One block on its way, and what is known of its token.
#[derive(Debug)]
pub(super) struct Letter<'a> {
    pub(super) block: &'a Block,
    name: &'a str,
    token: Cow<'a, str>,
    /// The server may have noted this token before, with the rows or without.
    pub(super) may_be_known: bool,
    /// The server has acknowledged this token, though it may have known it before.
    pub(super) is_acknowledged: bool,
    renewals: u32,
}

impl<'a> Letter<'a> {
    /// A block that goes under the token `name` at first.
    pub(super) fn new(block: &'a Block, name: &'a str, may_be_known: bool) -> Self {
        Self { block, name, token: Cow::Borrowed(name), may_be_known, is_acknowledged: false, renewals: 0 }
    }

    /// The token that it goes under now.
    pub(super) fn token(&self) -> &str {
        &self.token
    }

    /// Takes another token, the same that anyone else would take who finds the block missing. Says whether there is one left.
    pub(super) fn renew(&mut self) -> bool {
        if self.renewals == RENEWALS {
            return false;
        }
        self.renewals += 1;
        self.token = Cow::Owned(format!("{}/again{}", self.name, self.renewals));
        self.is_acknowledged = false;
        true
    }
}
