//! Sending at a rate: evenly, without bursts.

use std::time::{Duration, Instant};

/// How far sending may be late and still catch up. What is later is lost, or a pause would end in a burst.
const SLACK: Duration = Duration::from_millis(200);

/// What a rate near zero comes to.
const FOREVER: Duration = Duration::from_secs(100 * 365 * 86_400);

/// Says how long to wait before each message so that rows leave at a steady rate.
#[derive(Debug)]
pub struct Pace {
    rows_per_second: f64,
    due: Option<Instant>,
}

impl Pace {
    /// A rate in rows a second, which is positive.
    #[must_use]
    pub fn new(rows_per_second: f64) -> Self {
        Self { rows_per_second, due: None }
    }

    /// How long to wait before a message of so many rows is sent.
    pub fn wait(&mut self, rows: u64) -> Duration {
        self.wait_at(Instant::now(), rows)
    }

    #[allow(clippy::cast_precision_loss)] // rows of one message
    fn wait_at(&mut self, now: Instant, rows: u64) -> Duration {
        let due = self.due.map_or(now, |due| due.max(now.checked_sub(SLACK).unwrap_or(now)));
        // Each message makes room for itself: the next is due when this one's rows have had their time.
        let own = Duration::try_from_secs_f64(rows as f64 / self.rows_per_second).unwrap_or(FOREVER);
        self.due = Some(due.checked_add(own).unwrap_or(due + FOREVER));
        due.saturating_duration_since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_leave_when_the_rows_before_them_have_had_their_time() {
        let (mut pace, start) = (Pace::new(1000.0), Instant::now());
        let at = |ms: u64| start + Duration::from_millis(ms);
        assert_eq!(pace.wait_at(at(0), 500), Duration::ZERO);
        assert_eq!(pace.wait_at(at(0), 100), Duration::from_millis(500));
        assert_eq!(pace.wait_at(at(500), 100), Duration::from_millis(100));
        assert_eq!(pace.wait_at(at(650), 100), Duration::from_millis(50));
    }

    #[test]
    fn a_rate_near_zero_waits_forever() {
        let mut pace = Pace::new(1e-300);
        assert_eq!(pace.wait(1), Duration::ZERO);
        assert!(pace.wait(1) > FOREVER / 2);
    }

    #[test]
    fn a_pause_does_not_end_in_a_burst() {
        let (mut pace, start) = (Pace::new(1000.0), Instant::now());
        assert_eq!(pace.wait_at(start, 100), Duration::ZERO);
        // Ten seconds late: a fifth of a second is caught up, not ten.
        let mut now = start + Duration::from_secs(10);
        let mut at_once = 0;
        for _ in 0..100 {
            let wait = pace.wait_at(now, 100);
            at_once += u32::from(wait.is_zero());
            now += wait;
        }
        assert_eq!(at_once, 3);
    }
}
