//! Rows of one table, column by column: tiles that a decoder writes into, the columns behind them, and their encoding as a
//! ClickHouse Native block.
//!
//! A decoder touches some hundred columns per record. Were it to write straight into long columns, each store would fall
//! into a page of its own; so it fills a [`Tile`] of a few rows that stays in the cache, and whole tiles are appended to the
//! [`Columns`].

mod columns;
mod compress;
mod dictionary;
mod native;
mod shape;
mod tile;

pub use columns::{Cell, Columns};
pub use compress::FrameWriter;
pub use dictionary::Dictionary;
pub use native::{Codec, Encoded, seal};
pub use shape::{Shape, Slot};
pub use tile::{TILE_ROWS, Tile};
