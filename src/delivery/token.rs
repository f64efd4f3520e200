//! The name of a block, the same however often it is sent and by whom.

use super::Range;

/// The token of a batch's block for a table. `era` tells apart what is meant to be sent anew, after an operator moved the
/// group's offset for instance, from what is sent once more.
#[must_use]
pub fn token(topic: &str, partition: i32, era: u64, range: Range, table: &str) -> String {
    format!("{topic}/{partition}/{era:x}/{}-{}/{table}", range.first, range.next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_tells() {
        let range = Range { first: 10, next: 20 };
        assert_eq!(token("dGhl", 3, 255, range, "t_v2"), "dGhl/3/ff/10-20/t_v2");
    }
}
