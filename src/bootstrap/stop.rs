//! The request to end a pass before it is done.

use std::future::{Future, pending};

use tokio::sync::watch;

use super::error::Error;

/// Whether a pass is asked to end. By default nobody asks.
///
/// A pass that were simply dropped would leave its claim on the lease behind, and everybody waiting until it lapses. One that
/// is asked finishes the statement under way, gives the lease back and ends.
#[derive(Debug, Clone, Default)]
pub struct Stop(Option<watch::Receiver<bool>>);

impl Stop {
    /// Asked once `asked` turns true.
    #[must_use]
    pub const fn on(asked: watch::Receiver<bool>) -> Self {
        Self(Some(asked))
    }

    pub(super) fn is_asked(&self) -> bool {
        self.0.as_ref().is_some_and(|asked| *asked.borrow())
    }

    /// Waits until it is asked.
    pub(super) async fn asked(&self) {
        if let Some(mut asked) = self.0.clone()
            && asked.wait_for(|asked| *asked).await.is_ok()
        {
            return;
        }
        // Nobody is left who could ask.
        pending().await
    }

    /// Waits for something that changes nothing, unless it is asked before.
    pub(super) async fn or<T>(&self, wait: impl Future<Output = T>) -> Result<T, Error> {
        tokio::select! {
            biased;
            () = self.asked() => Err(Error::Stopped),
            done = wait => Ok(done),
        }
    }
}
