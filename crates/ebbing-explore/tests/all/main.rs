//! The server as a whole, asked over TCP as a browser asks it, and as a browser never would.

mod answers;
mod refusals;
mod support;
