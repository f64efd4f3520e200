//! Who may try when the last attempt failed: one, after a while.
//!
//! Many blocks wait to be sent when a server or a table is out of order. Each of them retrying by itself would be a storm
//! just when the server comes back. A gate closes at a failure; when its wait is over one attempt passes, and its outcome
//! opens the gate for all or closes it for longer.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::{sync::Notify, time::Instant};

use super::backoff::backoff;

/// The gate of a server or a table.
#[derive(Debug, Default)]
pub(super) struct Gate {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// When the next attempt may pass; `None` while the gate is open.
    until: Option<Instant>,
    /// Failures in a row.
    failures: u32,
    /// One attempt has passed the closed gate and has no outcome yet.
    probing: bool,
}

impl State {
    fn may_pass(&self, now: Instant) -> bool {
        self.until.is_none_or(|until| until <= now && !self.probing)
    }
}

impl Gate {
    /// Waits until an attempt may pass. By then another may have been faster: [`Gate::enter`] decides.
    pub(super) async fn ready(&self) {
        loop {
            let changed = self.changed.notified();
            let mut changed = std::pin::pin!(changed);
            changed.as_mut().enable();
            let until = {
                let state = self.state();
                if state.may_pass(Instant::now()) {
                    return;
                }
                state.until.filter(|_| !state.probing)
            };
            match until {
                None => changed.await,
                Some(until) => tokio::select! {
                    () = changed => {}
                    () = tokio::time::sleep_until(until) => {}
                },
            }
        }
    }

    /// Takes leave to make one attempt, if it is given now.
    pub(super) fn enter(self: &Arc<Self>) -> Option<Pass> {
        let mut state = self.state();
        if !state.may_pass(Instant::now()) {
            return None;
        }
        let probe = state.until.is_some();
        state.probing |= probe;
        drop(state);
        Some(Pass { gate: self.clone(), probe })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Leave to make one attempt. Dropped without an outcome it counts for nothing.
#[derive(Debug)]
pub(super) struct Pass {
    gate: Arc<Gate>,
    /// Passed a closed gate, whose outcome all others wait for.
    probe: bool,
}

impl Pass {
    /// The attempt reached what stands behind the gate: it is open for all.
    pub(super) fn succeeded(mut self) {
        *self.gate.state() = State::default();
        self.probe = false;
        self.gate.changed.notify_waiters();
    }

    /// What stands behind the gate is out of order.
    pub(super) fn failed(mut self) {
        {
            let mut state = self.gate.state();
            // Of the attempts under way when the gate closed, one failure counts.
            if state.until.is_none() || self.probe {
                state.failures = state.failures.saturating_add(1);
                state.until = Some(Instant::now() + backoff(state.failures));
                state.probing = false;
            }
        }
        self.probe = false;
        self.gate.changed.notify_waiters();
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        if self.probe {
            self.gate.state().probing = false;
            self.gate.changed.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_attempt_passes_a_closed_gate_and_opens_it_for_all() {
        let gate = Arc::new(Gate::default());
        let (first, second) = (gate.enter().expect("open"), gate.enter().expect("open"));
        first.failed();
        second.failed();
        assert_eq!(gate.state().failures, 1, "attempts that were under way together fail together");
        assert!(gate.enter().is_none());

        gate.ready().await;
        let probe = gate.enter().expect("the wait is over");
        assert!(gate.enter().is_none(), "a second one has to wait for the outcome");
        let waiting = tokio::spawn({
            let gate = gate.clone();
            async move { gate.ready().await }
        });
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(!waiting.is_finished());
        probe.succeeded();
        waiting.await.expect("woken");
        assert!(gate.enter().is_some() && gate.enter().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn an_attempt_that_is_given_up_lets_the_next_one_try() {
        let gate = Arc::new(Gate::default());
        gate.enter().expect("open").failed();
        gate.ready().await;
        drop(gate.enter().expect("the wait is over"));
        assert!(gate.enter().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn attempts_grow_rarer_in_a_long_outage() {
        let gate = Arc::new(Gate::default());
        let begin = Instant::now();
        let mut attempts = 0;
        while begin.elapsed() < Duration::from_secs(600) {
            gate.ready().await;
            gate.enter().expect("alone").failed();
            attempts += 1;
        }
        assert!((60..=150).contains(&attempts), "{attempts} attempts in ten minutes");
    }
}
