//! Answers that stream their progress: one JSON object per line, the last one the result. If the page closes the connection, the
//! computation stops.

use crate::desk::Waiting;
use axum::body::{Body, Bytes, HttpBody};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// How many lines may wait to be sent; further progress is dropped.
const WAITING: usize = 64;

/// The lines of one answer.
struct Lines {
    receiver: Receiver<Bytes>,
    /// Dropped with the connection.
    _waiting: Waiting,
}

/// The end at which lines are written.
#[derive(Debug, Clone)]
pub struct Writer(Sender<Bytes>);

impl Writer {
    /// Sends a step and the share of the work that is done before it, if there is room.
    pub fn progress(&self, step: &str, share: f64) {
        let _ = self.0.try_send(line(&serde_json::json!({ "progress": step, "share": share })));
    }

    /// Sends the result.
    pub async fn finish(&self, value: &serde_json::Value) {
        // If the page is gone, there is nobody to send it to.
        let _ = self.0.send(line(value)).await;
    }
}

fn line(value: &serde_json::Value) -> Bytes {
    let mut text = value.to_string();
    text.push('\n');
    text.into()
}

/// An answer and the end at which it is written.
pub fn lines(waiting: Waiting) -> (Writer, Body) {
    let (sender, receiver) = channel(WAITING);
    (Writer(sender), Body::new(Lines { receiver, _waiting: waiting }))
}

impl HttpBody for Lines {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, Infallible>>> {
        self.receiver.poll_recv(context).map(|line| line.map(|line| Ok(http_body::Frame::data(line))))
    }
}
