use proptest::prelude::*;

use super::*;

/// A record of `n` bytes in an envelope: key, length, filling.
fn record(n: usize) -> Vec<u8> {
    let mut bytes = vec![RECORD_KEY];
    prost::encoding::encode_varint(n as u64, &mut bytes);
    bytes.resize(bytes.len() + n, 0x5a);
    bytes
}

fn frame(envelope: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    prost::encoding::encode_varint(envelope.len() as u64, &mut bytes);
    bytes.extend_from_slice(envelope);
    bytes
}

/// What came: `(index, length)` of records, or `(kind, start, length, hint)` of refused pieces.
#[derive(Debug, PartialEq)]
enum Got {
    Record(u32, usize),
    Refused(CutKind, usize, usize, Option<Hint>),
}

fn cut(message: &[u8]) -> Vec<Got> {
    Pieces::delimited(message).map(got).collect()
}

fn got(piece: Piece<'_>) -> Got {
    match piece {
        Piece::Record { index, bytes, .. } => Got::Record(index, bytes.len()),
        Piece::Refused { cut, bytes } => Got::Refused(cut.kind, cut.at, bytes.len(), cut.hint),
    }
}

#[test]
fn frames_back_to_back() {
    let message = [frame(&[record(3), record(0)].concat()), frame(&record(200))].concat();
    assert_eq!(cut(&message), [Got::Record(0, 3), Got::Record(1, 0), Got::Record(2, 200)]);
}

#[test]
fn nothing_but_an_empty_envelope_is_fine() {
    assert_eq!(cut(&[0]), []);
    assert_eq!(cut(&[]), []);
}

#[test]
fn an_empty_frame_beside_others_is_refused() {
    let confluent = [&[0, 0, 0, 0, 42, 0][..], &record(3)].concat();
    let whole = confluent.len();
    assert_eq!(cut(&confluent), [Got::Refused(CutKind::EmptyFrame, 0, whole, Some(Hint::ConfluentHeader))]);
    let trailing = [frame(&record(3)), vec![0]].concat();
    assert_eq!(cut(&trailing)[1], Got::Refused(CutKind::EmptyFrame, 6, 1, None));
}

#[test]
fn a_confluent_header_is_read_when_asked_for() {
    let one = [&[0, 0, 0, 0, 42, 0][..], &record(3), &record(4)].concat();
    assert_eq!(Pieces::confluent(&one).map(got).collect::<Vec<_>>(), [Got::Record(0, 3), Got::Record(1, 4)]);
    let indexes = [&[0, 0, 0, 0, 42, 4, 2, 0][..], &record(3)].concat();
    assert_eq!(Pieces::confluent(&indexes).map(got).collect::<Vec<_>>(), [Got::Record(0, 3)]);
    let fewer_than_none = [&[0, 0, 0, 0, 42, 1][..], &record(3)].concat();
    for none in [frame(&record(3)), fewer_than_none] {
        let kind = CutKind::NoConfluentHeader;
        assert_eq!(Pieces::confluent(&none).map(got).collect::<Vec<_>>(), [Got::Refused(kind, 0, none.len(), None)]);
    }
}

#[test]
fn a_length_beyond_the_message() {
    let good = frame(&record(3));
    let message = [&good[..], &[9, 1, 2]].concat();
    let kind = CutKind::LengthBeyondMessage { length: 9, left: 2 };
    assert_eq!(cut(&message), [Got::Record(0, 3), Got::Refused(kind, good.len(), 3, None)]);
}

#[test]
fn bare_envelopes_of_any_size_are_refused_whole() {
    // From 82 bytes on the record key is a length that the message can satisfy.
    for sizes in [vec![20, 30], vec![45, 45], vec![82, 90], vec![0x52, 0x52, 0x52], vec![200, 3, 7], vec![13, 90]] {
        let bare: Vec<u8> = sizes.iter().flat_map(|n| record(*n)).collect();
        let pieces = cut(&bare);
        assert_eq!(pieces.len(), 1, "{sizes:?}: {pieces:?}");
        assert!(
            matches!(pieces[0], Got::Refused(CutKind::NoEnvelope { .. } | CutKind::LengthBeyondMessage { .. }, 0, n, Some(Hint::NoLengthPrefix)) if n == bare.len()),
            "{sizes:?}: {pieces:?}"
        );
    }
}

#[test]
fn a_length_written_twice_is_told() {
    let message = frame(&frame(&record(30)));
    assert!(
        matches!(cut(&message)[..], [Got::Refused(_, 0, 34, Some(Hint::DoubleLengthPrefix))]),
        "{:?}",
        cut(&message)
    );
}

#[test]
fn a_foreign_field_condemns_its_frame_only() {
    let foreign = frame(&[record(3), vec![0x58, 0x01]].concat());
    let message = [&foreign[..], &frame(&record(4))].concat();
    let kind = CutKind::ForeignField { number: 11, wire: 0, at: 6 };
    assert_eq!(cut(&message), [Got::Refused(kind, 0, foreign.len(), None), Got::Record(0, 4)]);
}

#[test]
fn a_record_beyond_its_frame_takes_the_rest_of_it() {
    let mut envelope = record(3);
    envelope.extend_from_slice(&[RECORD_KEY, 50, 1, 2]);
    let message = [frame(&envelope), frame(&record(4))].concat();
    let kind = CutKind::RecordBeyondFrame { length: 50, left: 2 };
    assert_eq!(cut(&message), [Got::Record(0, 3), Got::Refused(kind, 6, 4, None), Got::Record(1, 4)]);
    let first = [frame(&[RECORD_KEY, 50, 1, 2]), frame(&record(4))].concat();
    assert_eq!(cut(&first), [Got::Refused(kind, 1, 4, None), Got::Record(0, 4)]);
    let cut_off = frame(&[&record(3)[..], &[RECORD_KEY, 0x80]].concat());
    assert_eq!(cut(&cut_off), [Got::Record(0, 3), Got::Refused(CutKind::RecordLengthCutOff, 6, 2, None)]);
}

#[test]
fn bytes_that_are_no_envelope_end_the_message() {
    let bad = frame(&[&record(3)[..], &[0xff; 12]].concat());
    let message = [frame(&record(1)), bad.clone(), frame(&record(4))].concat();
    let rest = message.len() - 4;
    let kind = CutKind::NoEnvelope { at: 10, key: 0, why: NoEnvelope::VarintTooLong };
    assert_eq!(cut(&message), [Got::Record(0, 1), Got::Refused(kind, 4, rest, None)]);
}

#[test]
fn what_shows_that_bytes_are_no_envelope_is_named_with_its_byte() {
    for (bytes, text) in [
        (&[0x02, 0x01, 0x00][..], ": field number 0 at byte 6 is not allowed (1 to 536870911)"),
        (&[0x82, 0x80, 0x80, 0x80, 0x10], ": field number 536870912 at byte 6 is not allowed (1 to 536870911)"),
        (&[0x56, 0x00], ": field 10 at byte 6 has wire type 6, which does not exist (0 to 5)"),
        (&[0x5c], ": field 11 at byte 6 ends a group that did not start"),
        (&[0xff; 10], ": the varint at byte 6 is longer than 10 bytes or 64 bits"),
        (&[0xff; 2], ": the key at byte 6 is cut off"),
        (&[RECORD_KEY, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], ": the varint at byte 7 is longer"),
    ] {
        let message = frame(&[&record(3)[..], bytes].concat());
        let refused = Pieces::delimited(&message).find_map(|piece| match piece {
            Piece::Refused { cut, .. } => Some(cut.to_string()),
            Piece::Record { .. } => None,
        });
        let refused = refused.expect("a refused piece");
        let expected = format!("frame 0 at byte 0: its bytes are no envelope{text}");
        assert!(refused.starts_with(&expected), "{bytes:x?}: {refused}");
    }
    let foreign = frame(&[&record(3)[..], &[0x58, 0x01]].concat());
    let Some(Piece::Refused { cut, .. }) = Pieces::delimited(&foreign).next() else { panic!("it is refused") };
    assert!(cut.to_string().contains("field 11 of wire type 0 at byte 6; only field 10"), "{cut}");
}

proptest! {
    /// Whatever the bytes are: no panic, pieces in order, none overlaps, and no byte but lengths and keys is lost.
    #[test]
    fn any_bytes_are_cut_in_order(message in prop::collection::vec(prop_oneof![Just(RECORD_KEY), Just(0u8), 0u8..40, any::<u8>()], 0..300)) {
        let mut end = 0;
        for piece in Pieces::delimited(&message) {
            let (at, bytes) = match piece {
                Piece::Record { at, bytes, .. } => (at, bytes),
                Piece::Refused { cut, bytes } => (cut.at, bytes),
            };
            prop_assert!(at >= end);
            prop_assert_eq!(&message[at..at + bytes.len()], bytes);
            // Between pieces stand only a frame's length and a record's key and length, ten bytes each at most.
            prop_assert!(at - end <= 30);
            end = at + bytes.len();
        }
        prop_assert!(message.len() - end <= 10);
    }
}
