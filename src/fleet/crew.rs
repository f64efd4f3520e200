//! All hosts of a fleet, and whose turn it is.

use super::{
    host::Host,
    layout::Writer,
    options::{Mix, OptionError, Options},
    slots::Slots,
};

/// Hosts grouped by the layout of their daemons.
#[derive(Debug)]
pub(super) struct Crew {
    hosts: Vec<Host>,
    groups: Vec<Group>,
    sockets: u64,
}

/// The hosts whose daemons write one layout.
#[derive(Debug)]
struct Group {
    hosts: Vec<usize>,
    next: usize,
    share: f64,
    /// Records written so far.
    records: f64,
}

impl Crew {
    pub(super) fn new(options: &Options, writers: &[Writer], slots: &Slots) -> Result<Self, OptionError> {
        let shares = shares(&options.mix, writers)?;
        let layouts = shares.len();
        let count = usize::try_from(options.hosts).unwrap_or(usize::MAX);
        if count < layouts {
            return Err(OptionError::Hosts { hosts: options.hosts, layouts });
        }
        let total: f64 = shares.iter().map(|(_, share)| share).sum();
        let mut hosts = Vec::new();
        let mut groups = Vec::new();
        for (place, (writer, share)) in shares.iter().enumerate() {
            // What is left is enough for one host for each layout that is left.
            let left = count - hosts.len() - (layouts - place - 1);
            let size = if place + 1 == layouts {
                left
            } else {
                rounded(share / total * f64::from(options.hosts)).clamp(1, left)
            };
            let release = release(&writers[*writer]);
            let first = hosts.len();
            hosts.extend(
                (first..first + size).map(|i| Host::new(options.seed, i as u64, (*writer, place), &release, slots)),
            );
            groups.push(Group { hosts: (first..first + size).collect(), next: 0, share: share / total, records: 0.0 });
        }
        Ok(Self { hosts, groups, sockets: u64::from(options.sockets.max(1)) })
    }

    /// The host whose daemon sends next: one of the layout that is furthest behind its share.
    pub(super) fn turn(&mut self) -> usize {
        let total: f64 = self.groups.iter().map(|g| g.records).sum::<f64>() + 1.0;
        let behind = |group: &Group| group.share * total - group.records;
        let group = self.groups.iter_mut().max_by(|a, b| behind(a).total_cmp(&behind(b))).expect("there is a layout");
        group.next = (group.next + 1) % group.hosts.len();
        group.hosts[group.next]
    }

    /// The next socket of a host, and how many it has. When all were read, the next poll begins, now.
    pub(super) fn socket(&mut self, host: usize, now_ns: i64) -> (u64, u64) {
        let sockets = self.sockets;
        let host = &mut self.hosts[host];
        if host.poll_ns == 0 || host.socket == sockets {
            host.poll += 1;
            host.socket = 0;
            // Not all hosts wake up at one moment.
            host.poll_ns = now_ns - i64::from(host.address[3]) * 3_700_001;
        }
        host.socket += 1;
        ((host.start + host.socket - 1) % sockets, sockets)
    }

    /// Says that a record of this host was written.
    pub(super) fn wrote(&mut self, host: usize) {
        self.groups[self.hosts[host].group].records += 1.0;
    }

    pub(super) fn host(&self, host: usize) -> &Host {
        &self.hosts[host]
    }
}

/// The shares of the usual mix, the newest layout first.
pub(super) fn usual_shares() -> impl Iterator<Item = f64> {
    [60.0, 20.0, 10.0, 7.0].into_iter().chain(std::iter::repeat(3.0))
}

/// Positions of the layouts in the mix with their shares.
fn shares(mix: &Mix, writers: &[Writer]) -> Result<Vec<(usize, f64)>, OptionError> {
    match mix {
        Mix::Default => Ok((0..writers.len()).zip(usual_shares()).collect()),
        Mix::Shares(shares) => shares.iter().map(|(name, share)| Ok((find(name, writers)?, *share))).collect(),
    }
}

/// A layout by its name, or by `EPOCH/NAME` where several epochs have one of that name.
fn find(name: &str, writers: &[Writer]) -> Result<usize, OptionError> {
    let full = |writer: &Writer| format!("{}/{}", writer.epoch, writer.name);
    let mut found = writers.iter().enumerate().filter(|(_, w)| w.name == name || full(w) == name).map(|(i, _)| i);
    match (found.next(), found.next()) {
        (Some(index), None) => Ok(index),
        _ => {
            let known = writers.iter().map(|w| format!("`{}`", full(w))).collect::<Vec<_>>().join(", ");
            Err(OptionError::Unknown { what: "layout", name: name.to_owned(), known })
        }
    }
}

/// What the daemon of a layout calls its build.
fn release(writer: &Writer) -> String {
    format!("1.{}.{}-3f2c1ab 2026-08-20T10:11:12Z", writer.epoch + 2, writer.name.len())
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a share of the hosts
fn rounded(hosts: f64) -> usize {
    hosts.round() as usize
}
