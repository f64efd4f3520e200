//! SIGTERM and SIGINT: the first one asks, the second one ends.

use std::{io, process};

use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::watch,
};

/// The request to end, once it has come.
#[derive(Debug, Clone)]
pub(crate) struct Asked(watch::Receiver<bool>);

impl Asked {
    /// Listens from now on. A second signal ends the process at once, with the shell's exit code for it; whatever is not
    /// committed by then is read again.
    ///
    /// # Errors
    /// The system doesn't let signals be caught.
    pub(crate) fn listen() -> io::Result<Self> {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let (asked, seen) = watch::channel(false);
        tokio::spawn(async move {
            let (_, name) = next(&mut interrupt, &mut terminate).await;
            tracing::info!(signal = name, "ending: finishing what is in flight; a second signal ends at once");
            asked.send_replace(true);
            let (kind, name) = next(&mut interrupt, &mut terminate).await;
            tracing::warn!(signal = name, "ended at once; what is not committed is read again");
            process::exit(128 + kind.as_raw_value());
        });
        Ok(Self(seen))
    }

    /// Turns true with the first signal.
    pub(crate) fn seen(&self) -> watch::Receiver<bool> {
        self.0.clone()
    }

    /// Waits for the first signal.
    pub(crate) async fn wait(&mut self) {
        if self.0.wait_for(|asked| *asked).await.is_err() {
            // The task that listens ends with the process.
            std::future::pending::<()>().await;
        }
    }
}

async fn next(interrupt: &mut Signal, terminate: &mut Signal) -> (SignalKind, &'static str) {
    tokio::select! {
        _ = interrupt.recv() => (SignalKind::interrupt(), "SIGINT"),
        _ = terminate.recv() => (SignalKind::terminate(), "SIGTERM"),
    }
}
