//! What a member of a group was assigned, as the group protocol writes it.

use std::collections::BTreeSet;

/// The partitions of a topic in a member's assignment (`ConsumerProtocolAssignment`, whose fields have stayed as they are
/// from version 0 on). `None` if it can't be read.
pub(super) fn partitions(assignment: &[u8], topic: &str) -> Option<BTreeSet<i32>> {
    let mut reader = Reader(assignment);
    let _version = reader.i16()?;
    let mut partitions = BTreeSet::new();
    for _ in 0..reader.i32()? {
        let length = usize::try_from(reader.i16()?).ok()?;
        let is_of_topic = reader.take(length)? == topic.as_bytes();
        for _ in 0..reader.i32()? {
            let partition = reader.i32()?;
            if is_of_topic {
                partitions.insert(partition);
            }
        }
    }
    Some(partitions)
}

/// What is left to read, big endian.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn i16(&mut self) -> Option<i16> {
        self.take(2).map(|bytes| i16::from_be_bytes([bytes[0], bytes[1]]))
    }

    fn i32(&mut self) -> Option<i32> {
        self.take(4).map(|bytes| i32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assignment(topics: &[(&str, &[i32])]) -> Vec<u8> {
        let mut bytes = 3i16.to_be_bytes().to_vec();
        bytes.extend(i32::try_from(topics.len()).unwrap().to_be_bytes());
        for (topic, partitions) in topics {
            bytes.extend(i16::try_from(topic.len()).unwrap().to_be_bytes());
            bytes.extend(topic.as_bytes());
            bytes.extend(i32::try_from(partitions.len()).unwrap().to_be_bytes());
            partitions.iter().for_each(|partition| bytes.extend(partition.to_be_bytes()));
        }
        // Data of the user's: none.
        bytes.extend((-1i32).to_be_bytes());
        bytes
    }

    #[test]
    fn only_those_of_the_topic_count() {
        let bytes = assignment(&[("other", &[0, 1, 9]), ("xtcp", &[4, 2])]);
        assert_eq!(partitions(&bytes, "xtcp"), Some(BTreeSet::from([2, 4])));
        assert_eq!(partitions(&bytes, "none"), Some(BTreeSet::new()));
    }

    #[test]
    fn what_is_cut_short_is_not_read() {
        let bytes = assignment(&[("xtcp", &[4, 2])]);
        let end = bytes.len() - 4;
        for length in 0..end {
            assert_eq!(partitions(&bytes[..length], "xtcp"), None, "{length} of {end} bytes");
        }
    }
}
