//! How long ago this process was surely a member of its group.
//!
//! A process that is frozen and woken again owns nothing any more and doesn't know. The clock knows: nothing is sent, and
//! nothing that is being sent goes on, unless the coordinator took a write of this process within the time after which it
//! gives partitions to others. What slips through bears the token of a range that the new owner sends as well.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use tokio::sync::Notify;

/// The last proof, and for how long it holds.
#[derive(Debug)]
pub(super) struct Proof {
    /// `None` where no proof is asked for.
    limit: Option<Duration>,
    last: Mutex<Option<Moment>>,
    renewed: Notify,
}

/// A moment by two clocks: one that never goes back but may stand still while the machine sleeps, and one that goes on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    steady: Instant,
    wall: SystemTime,
}

impl Moment {
    pub(super) fn now() -> Self {
        Self { steady: Instant::now(), wall: SystemTime::now() }
    }

    /// The longer of both times since then.
    fn elapsed(&self) -> Duration {
        self.steady.elapsed().max(self.wall.elapsed().unwrap_or_default())
    }
}

impl Proof {
    /// No proof is asked for.
    pub(super) const fn not_needed() -> Self {
        Self::new(None)
    }

    /// A proof holds for that long; there is none yet.
    pub(super) const fn within(limit: Duration) -> Self {
        Self::new(Some(limit))
    }

    const fn new(limit: Option<Duration>) -> Self {
        Self { limit, last: Mutex::new(None), renewed: Notify::const_new() }
    }

    /// The coordinator took a write that began at that moment.
    pub(super) fn renew(&self, begun: Moment) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(begun);
        self.renewed.notify_waiters();
    }

    /// Whether it holds now.
    pub(super) fn holds(&self) -> bool {
        self.within_share(1)
    }

    /// Whether it should be renewed if anything is to be sent.
    pub(super) fn is_old(&self) -> bool {
        !self.within_share(3)
    }

    fn within_share(&self, share: u32) -> bool {
        let Some(limit) = self.limit else { return true };
        let last = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.is_some_and(|last| last.elapsed() < limit / share)
    }

    /// Waits until it holds.
    pub(super) async fn ready(&self) {
        loop {
            let renewed = self.renewed.notified();
            let mut renewed = std::pin::pin!(renewed);
            renewed.as_mut().enable();
            if self.holds() {
                return;
            }
            renewed.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, thread};

    use super::*;

    #[tokio::test]
    async fn it_lapses_and_is_renewed() {
        let proof = Arc::new(Proof::within(Duration::from_millis(300)));
        assert!(!proof.holds() && proof.is_old(), "none yet");
        let begun = Moment::now();
        proof.renew(begun);
        assert!(proof.holds() && !proof.is_old());
        thread::sleep(Duration::from_millis(150));
        assert!(proof.holds() && proof.is_old(), "a third of it is over");
        thread::sleep(Duration::from_millis(200));
        assert!(!proof.holds());
        // An answer that comes late proves nothing of now.
        proof.renew(begun);
        assert!(!proof.holds());
        let waiting = tokio::spawn({
            let proof = proof.clone();
            async move { proof.ready().await }
        });
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(!waiting.is_finished());
        proof.renew(Moment::now());
        waiting.await.expect("woken");
    }

    #[test]
    fn a_clock_that_jumped_counts() {
        let proof = Proof::within(Duration::from_secs(10));
        proof.renew(Moment { steady: Instant::now(), wall: SystemTime::now() - Duration::from_secs(60) });
        assert!(!proof.holds(), "the machine slept");
        assert!(Proof::not_needed().holds());
    }
}
