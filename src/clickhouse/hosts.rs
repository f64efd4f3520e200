//! The servers that lead to the same tables: which one gets the next request.
//!
//! The first that can be reached does. One that could not be is left alone for a while, longer each time, and is pinged before
//! it gets a request again, so that no insert has to find out.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use rand::Rng as _;
use url::Url;

/// How long a server is left alone: after one failed attempt, and at most.
const ALONE: (Duration, Duration) = if cfg!(test) {
    (Duration::from_millis(100), Duration::from_millis(200))
} else {
    (Duration::from_secs(2), Duration::from_secs(30))
};

/// All servers, in the order in which they are preferred. Clones share what is known of them.
#[derive(Debug, Clone)]
pub(super) struct Hosts(Arc<[Host]>);

/// One server.
#[derive(Debug)]
pub(super) struct Host {
    pub url: Url,
    /// `host:port`, for messages.
    pub name: String,
    /// `None` as long as it can be reached.
    away: Mutex<Option<Away>>,
}

/// A server that could not be reached.
#[derive(Debug, Clone, Copy)]
struct Away {
    /// When to look again.
    until: Instant,
    /// How often in a row it was not there.
    times: u32,
}

/// How a server can be used.
enum Use {
    Reachable,
    /// It was away, and it is for the asker to look whether it still is.
    ToBePinged,
    LeftAlone(Instant),
}

impl Hosts {
    /// Servers of which nothing is known. Credentials in their addresses are dropped.
    pub(super) fn new(urls: &[Url]) -> Self {
        Self(urls.iter().map(|url| Host::new(url.clone())).collect())
    }

    /// All names, for messages.
    pub(super) fn names(&self) -> String {
        self.0.iter().map(|host| host.name.as_str()).collect::<Vec<_>>().join(",")
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// The server for the next request, and whether it has to be pinged first, as it was away. If none can be reached, it is
    /// the one whose turn comes first: somebody has to try.
    pub(super) fn next(&self) -> (&Host, bool) {
        let [first, others @ ..] = &*self.0 else { unreachable!("the configuration has at least one address") };
        if others.is_empty() {
            return (first, false);
        }
        let mut soonest: Option<(&Host, Instant)> = None;
        for host in &*self.0 {
            match host.look() {
                Use::Reachable => return (host, false),
                Use::ToBePinged => return (host, true),
                Use::LeftAlone(until) if soonest.is_none_or(|(_, soonest)| until < soonest) => {
                    soonest = Some((host, until));
                }
                Use::LeftAlone(_) => {}
            }
        }
        (soonest.map_or(first, |(host, _)| host), false)
    }
}

impl Host {
    fn new(mut url: Url) -> Self {
        // Credentials travel in headers. A password left in the URL could end in an error or a proxy's log.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        let name = match (url.host_str(), url.port_or_known_default()) {
            (Some(host), Some(port)) => format!("{host}:{port}"),
            _ => url.to_string(),
        };
        Self { url, name, away: Mutex::default() }
    }

    /// How it can be used. Of several askers one alone is told to ping.
    fn look(&self) -> Use {
        let mut away = self.away.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(known) = &mut *away else { return Use::Reachable };
        let now = Instant::now();
        if now < known.until {
            return Use::LeftAlone(known.until);
        }
        // Until the asker knows better, it is still away.
        known.times += 1;
        known.until = now + pause(known.times);
        Use::ToBePinged
    }

    /// It answered.
    pub(super) fn is_there(&self) {
        *self.away.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// It could not be reached.
    pub(super) fn is_away(&self) {
        let mut away = self.away.lock().unwrap_or_else(PoisonError::into_inner);
        // Of the requests that were under way when it went, one failure counts.
        let times = away.map_or(1, |away| away.times);
        *away = Some(Away { until: Instant::now() + pause(times), times });
    }
}

/// Doubles each time; by chance up to half as long again, so that many clients do not come back at once.
fn pause(times: u32) -> Duration {
    let (first, most) = ALONE;
    let pause = first.saturating_mul(1 << times.saturating_sub(1).min(16)).min(most);
    pause.mul_f64(rand::rng().random_range(1.0..1.5))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(count: u16) -> Hosts {
        let urls: Vec<_> = (1..=count).map(|port| format!("http://u:p@h:{port}").parse().expect("a URL")).collect();
        Hosts::new(&urls)
    }

    #[test]
    fn the_first_that_can_be_reached_gets_the_request() {
        let hosts = hosts(3);
        let next = || (hosts.next().0.name.as_str(), hosts.next().1);
        assert_eq!(hosts.names(), "h:1,h:2,h:3");
        assert_eq!(next(), ("h:1", false));
        hosts.0[0].is_away();
        assert_eq!(next(), ("h:2", false));
        hosts.0[1].is_away();
        assert_eq!(next(), ("h:3", false));
        hosts.0[2].is_away();
        assert!(!next().1, "all are away: somebody has to try");
    }

    #[test]
    fn one_that_was_away_is_pinged_before_it_gets_a_request_again() {
        let hosts = hosts(2);
        let next = || {
            let (host, ping) = hosts.next();
            (host.name.as_str(), ping)
        };
        hosts.0[0].is_away();
        assert_eq!(next(), ("h:2", false), "it is left alone for a while");
        std::thread::sleep(2 * ALONE.0);
        assert_eq!(next(), ("h:1", true));
        assert_eq!(next(), ("h:2", false), "one asker pings it, the others go on");
        hosts.0[0].is_there();
        assert_eq!(next(), ("h:1", false));
    }

    #[test]
    fn requests_that_fail_together_count_once_and_pings_in_vain_each() {
        let hosts = hosts(2);
        let times = || hosts.0[0].away.lock().expect("no panic").expect("away").times;
        (0..5).for_each(|_| hosts.0[0].is_away());
        assert_eq!(times(), 1);
        for pings in 1..3 {
            std::thread::sleep(2 * ALONE.1);
            assert!(hosts.next().1);
            hosts.0[0].is_away();
            assert_eq!(times(), 1 + pings);
        }
    }

    #[test]
    fn a_server_without_another_is_never_left_alone() {
        let hosts = hosts(1);
        hosts.0[0].is_away();
        let (host, ping) = hosts.next();
        assert_eq!((host.name.as_str(), ping), ("h:1", false));
    }

    #[test]
    fn a_server_is_left_alone_longer_each_time_and_not_for_ever() {
        assert!(pause(1) >= ALONE.0 && pause(1) < 2 * ALONE.0);
        assert!(pause(1000) >= ALONE.1 && pause(1000) < 2 * ALONE.1);
    }
}
