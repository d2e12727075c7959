//! What the data alone says about learning tasks one after another.

mod multi_head;

pub use multi_head::*;
