//! The fleet against its promises.

use super::*;
use crate::epoch::{Registry, load};

mod reading;

use reading::{fields, frames};

fn registry() -> Registry {
    load::embedded().expect("good definitions")
}

fn fleet(options: Options) -> Fleet {
    Fleet::new(options, &registry()).expect("good options")
}

fn averages(mix: Mix) -> (f64, f64) {
    let (mut records, mut bytes, mut set) = (0, 0, 0);
    for message in fleet(Options { rows: 20_000, mix, ..Options::default() }) {
        for record in frames(&message.payload.expect("a value")).concat() {
            records += 1;
            bytes += record.len();
            set += fields(&record).len();
        }
    }
    assert_eq!(records, 20_000);
    (bytes as f64 / f64::from(records), set as f64 / f64::from(records))
}

#[test]
fn records_are_as_large_as_real_ones() {
    for layout in ["e2", "e1", "renumbered", "legacy", "legacy_seconds"] {
        println!("{layout} {:?}", averages(Mix::Shares(vec![(layout.to_owned(), 1.0)])));
    }
    println!("{:?}", averages(Mix::Default));
}
