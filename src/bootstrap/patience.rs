//! Waits for one service, up to a time, with a line in the log now and then.

use std::{
    future::Future,
    pin::pin,
    time::{Duration, Instant},
};

use tokio::time::{sleep, timeout};
use tracing::{info, warn};

use super::error::Error;

/// A service that is waited for is named in the log this often.
const REMIND: Duration = Duration::from_secs(10);

/// An answer that takes longer is spoken of at once: what asks may go on for a while before it says why there is none.
const SOON: Duration = Duration::from_millis(1500);

/// How much of the wait for a service is left.
pub(super) struct Patience {
    service: &'static str,
    wait: Duration,
    start: Instant,
    reminded: Option<Instant>,
}

impl Patience {
    pub(super) fn new(service: &'static str, wait: Duration) -> Self {
        Self { service, wait, start: Instant::now(), reminded: None }
    }

    /// Waits for an answer, and says so when it doesn't come soon.
    pub(super) async fn watch<T>(&mut self, answer: impl Future<Output = T>) -> T {
        let mut answer = pin!(answer);
        match timeout(SOON, answer.as_mut()).await {
            Ok(answer) => answer,
            Err(_) => {
                if self.reminded.is_none() {
                    info!(service = self.service, "waiting: no answer yet");
                }
                answer.await
            }
        }
    }

    /// Sleeps when the fault may pass and there is time left; otherwise hands it back.
    pub(super) fn after(&mut self, error: Error) -> impl Future<Output = Result<(), Error>> + use<> {
        let pause = self.pause(error);
        async move {
            sleep(pause?).await;
            Ok(())
        }
    }

    fn pause(&mut self, error: Error) -> Result<Duration, Error> {
        if !error.may_pass() {
            return Err(error);
        }
        let waited = self.start.elapsed();
        if waited >= self.wait {
            let (service, cause) = (self.service, error.to_string());
            return Err(match error.is_an_answer() {
                true => Error::Unmended { service, waited, cause },
                false => Error::Unanswered { service, waited, cause },
            });
        }
        if self.reminded.is_none_or(|at| at.elapsed() >= REMIND) {
            self.reminded = Some(Instant::now());
            let left = (self.wait - waited).as_secs();
            warn!(service = self.service, seconds_left = left, "waiting: {error}");
        }
        let pause = (self.wait / 10).clamp(Duration::from_secs(1), Duration::from_secs(5));
        Ok(pause.min(self.wait - waited))
    }
}
