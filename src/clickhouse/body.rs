//! A body that is asked, piece by piece, whether it may go on.

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

/// Asked before each piece of a body. When it says no the connection is broken off, and the server places nothing of it.
pub type Guard = Arc<dyn Fn() -> bool + Send + Sync>;

/// As much as goes out between two questions.
const PIECE: usize = 64 << 10;

/// The bytes that are left of a body.
pub(super) struct Guarded {
    rest: Bytes,
    guard: Guard,
}

/// The guard said no.
#[derive(Debug, thiserror::Error)]
#[error("broken off: this process may have lost the partition meanwhile")]
pub(super) struct BrokenOff;

impl Guarded {
    pub(super) fn new(body: Bytes, guard: Guard) -> Self {
        Self { rest: body, guard }
    }
}

impl Body for Guarded {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        if self.rest.is_empty() {
            return Poll::Ready(None);
        }
        if !(self.guard)() {
            return Poll::Ready(Some(Err(BrokenOff)));
        }
        let length = self.rest.len().min(PIECE);
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(length)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}

impl fmt::Debug for Guarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guarded").field("left", &self.rest.len()).finish_non_exhaustive()
    }
}
