//! Rows of one table, column by column: tiles that a decoder writes into, the columns behind them, and their encoding as a
//! ClickHouse Native block.
//!
//! A decoder touches some hundred columns per record. Were it to write straight into long columns, each store would fall
//! into a page of its own; so it fills a [`Tile`] of a few rows that stays in the cache. [`Columns`] are a list of tiles, and
//! their pieces are put together only where they are needed in one piece: on the way into the block.

mod columns;
mod compress;
mod dictionary;
mod native;
mod sample;
mod shape;
mod tile;

pub(crate) use columns::make_room;
pub use columns::{Cell, Columns, Strings};
pub use compress::{CHUNK, FrameWriter};
pub use dictionary::Dictionary;
pub use native::{Encoded, Sink, encode, seal};
pub use sample::sample;
pub(crate) use shape::INDEX_BYTES;
pub use shape::{Shape, Slot};
pub use tile::{TILE_ROWS, Tile};
