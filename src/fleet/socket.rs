//! One socket in one poll: its values.

use super::{host::Host, random::Random, slots::Slots, sockets::Sockets, values::Values};

/// Where sockets go: autonomous system and owner.
const NETWORKS: [(u64, &str); 8] = [
    (13335, "cloudflare"),
    (15169, "google"),
    (16509, "amazon"),
    (8075, "microsoft"),
    (20940, "akamai"),
    (3320, "deutsche telekom"),
    (7018, "at&t"),
    (24940, "hetzner"),
];

/// Messages in one reply packet of the kernel: the record counter starts again after so many.
const PACKET: u64 = 71;

/// Fills in the record of a host's `socket`-th socket of `count`. Everything but what belongs to the moment is the same in each
/// poll.
pub(super) fn fill(
    values: &mut Values,
    sockets: &Sockets,
    slots: &Slots,
    seed: u64,
    index: u64,
    host: &Host,
    (socket, count): (u64, u64),
) {
    values.clear();
    values.fill(&host.shared);
    let mut own = Random::of(&[seed, 2, index, socket]);
    let mut moment = Random::of(&[seed, 3, index, socket, host.poll]);

    // The namespaces are read one after the other, each in packets of its own.
    let namespaces = host.namespaces.len() as u64;
    let number = socket * namespaces / count.max(1);
    let within = socket - (number * count).div_ceil(namespaces);
    let namespace = &host.namespaces[usize::try_from(number).unwrap_or(0)];
    values.fill(&namespace.shared);
    let offset = i64::try_from(number).unwrap_or(0) * 1_700_321;
    #[allow(clippy::cast_sign_loss)] // a slot holds the 64 bits of an int64
    values.set(slots.timestamp_ns, (host.poll_ns + offset) as u64);
    values.set(slots.record_counter, within % PACKET);

    let class = sockets.class(&mut own);
    class.fill(values, &mut own, &mut moment, host.poll);
    address(values, slots.inet_diag_msg_socket_source, namespace.address);
    // A listening socket has no other side.
    if values.number(slots.inet_diag_msg_socket_destination_port) == 0 {
        address(values, slots.inet_diag_msg_socket_destination, [0; 4]);
    } else {
        destination(values, slots, host, &mut own);
    }
}

fn destination(values: &mut Values, slots: &Slots, host: &Host, own: &mut Random) {
    let [a, b, c, _] = host.address;
    let last = u8::try_from(1 + own.below(250)).unwrap_or(1);
    let locality = match own.below(100) {
        0..10 => 1,
        10..30 => 2,
        _ => 3,
    };
    values.set(slots.enrich_socket_dest_locality, locality);
    values.set(slots.enrich_socket_dest_egress_ifindex, 2);
    values.set_text(slots.enrich_socket_dest_egress_ifname, b"bond0");
    let to = match locality {
        1 => host.address,
        2 => [a, b, c, last],
        _ => {
            let (asn, owner) = *own.of_list(&NETWORKS);
            values.set(slots.enrich_socket_dest_asn, asn);
            values.set_text(slots.enrich_socket_dest_network_owner, owner.as_bytes());
            let net = asn.to_be_bytes();
            [net[6] | 0x20, net[7], u8::try_from(own.below(256)).unwrap_or(0), last]
        }
    };
    address(values, slots.inet_diag_msg_socket_destination, to);
}

/// The daemon sends 16 bytes for an address of either family.
fn address(values: &mut Values, slot: usize, v4: [u8; 4]) {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&v4);
    values.set_text(slot, &bytes);
}
