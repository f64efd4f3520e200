//! Something said now and then, however often there is cause.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Lets one of many calls through per interval: an outage of an hour is 60 warnings, not a million.
#[derive(Debug)]
pub struct Every {
    interval: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    last: Option<Instant>,
    silent: u64,
}

impl Every {
    /// The interval of warnings about an outage.
    pub const MINUTE: Duration = Duration::from_secs(60);

    /// Lets a call through at most once per interval; the first one at once.
    #[must_use]
    pub const fn new(interval: Duration) -> Self {
        Self { interval, state: Mutex::new(State { last: None, silent: 0 }) }
    }

    /// Whether to speak now. `Some` holds the number of calls that were silent since the last time.
    pub fn ready(&self) -> Option<u64> {
        self.ready_at(Instant::now())
    }

    /// Forgets the past: the next call is let through. For when the trouble is over.
    pub fn reset(&self) {
        *self.lock() = State::default();
    }

    fn ready_at(&self, now: Instant) -> Option<u64> {
        let mut state = self.lock();
        if state.last.is_some_and(|last| now.saturating_duration_since(last) < self.interval) {
            state.silent += 1;
            return None;
        }
        state.last = Some(now);
        Some(std::mem::take(&mut state.silent))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_call_speaks_and_then_one_per_interval() {
        let (every, start) = (Every::new(Every::MINUTE), Instant::now());
        let at = |seconds: f64| every.ready_at(start + Duration::from_secs_f64(seconds));
        assert_eq!(at(0.0), Some(0));
        assert_eq!(at(1.0), None);
        assert_eq!(at(59.9), None);
        assert_eq!(at(60.0), Some(2));
        assert_eq!(at(119.0), None);
        assert_eq!(at(500.0), Some(1));
    }

    #[test]
    fn after_a_reset_the_next_call_speaks() {
        let (every, start) = (Every::new(Every::MINUTE), Instant::now());
        assert_eq!(every.ready_at(start), Some(0));
        assert_eq!(every.ready_at(start), None);
        every.reset();
        assert_eq!(every.ready_at(start), Some(0));
    }

    #[test]
    fn a_clock_that_stands_behind_is_silent() {
        let (every, start) = (Every::new(Every::MINUTE), Instant::now() + Duration::from_secs(5));
        assert_eq!(every.ready_at(start), Some(0));
        assert_eq!(every.ready_at(start - Duration::from_secs(5)), None);
    }
}
