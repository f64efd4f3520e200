//! A host: what its daemon says of itself, its cards and switches, its namespaces and containers.

use super::{
    columns::Slot,
    random::Random,
    slots::{Slots, Uplink},
    values::Shared,
};

const SITES: [&str; 8] = ["iad1", "fra2", "sin3", "gru1", "syd1", "ord2", "ams4", "nrt1"];
const ROLES: [&str; 6] = ["web", "cache", "edge", "db", "mail", "build"];
const RUNTIMES: [&str; 3] = ["containerd", "docker", "crio"];
const IMAGES: [&str; 8] = [
    "registry.example.net/edge/nginx:1.27.4",
    "registry.example.net/edge/envoy:v1.34.1",
    "registry.example.net/data/redis:7.4.2-alpine",
    "registry.example.net/data/postgres:17.5",
    "registry.example.net/app/checkout:2026.08.14",
    "registry.example.net/app/search-frontend:3.11.0",
    "registry.example.net/mail/postfix:3.10.2",
    "registry.example.net/ci/runner:2.328.0",
];

/// A network card: driver, model, vendor, device, Mb/s, firmware.
type Card = (&'static str, &'static str, u64, u64, u64, &'static str);

const CARDS: [Card; 5] = [
    ("mlx5_core", "ConnectX-6 Lx", 0x15b3, 0x101f, 25_000, "26.43.2026 (MT_0000000531)"),
    ("mlx5_core", "BlueField-3 ConnectX-7", 0x15b3, 0xa2dc, 200_000, "32.43.1014 (MT_0000000884)"),
    ("ice", "E810-C for QSFP", 0x8086, 0x1592, 100_000, "4.70 0x8001f7a9 1.3755.0"),
    ("i40e", "XL710 for 40GbE QSFP+", 0x8086, 0x1583, 40_000, "9.50 0x8000f25e 1.3722.0"),
    ("tg3", "NetXtreme BCM5720", 0x14e4, 0x165f, 1_000, "FFV22.91.5 bc 5720-v1.39"),
];

/// One host.
#[derive(Debug)]
pub(super) struct Host {
    /// The position of its daemon's layout.
    pub(super) writer: usize,
    /// The position of its group in the crew.
    pub(super) group: usize,
    /// What every record of the host says.
    pub(super) shared: Vec<(Slot, Shared)>,
    pub(super) namespaces: Vec<Namespace>,
    /// The address that its sockets have outside of containers.
    pub(super) address: [u8; 4],
    /// Where its polls begin: the sockets follow in their order from there, and then from the first.
    pub(super) start: u64,
    /// Sockets read in the poll under way.
    pub(super) socket: u64,
    /// How often all sockets were read.
    pub(super) poll: u64,
    /// When the poll under way began.
    pub(super) poll_ns: i64,
}

/// A network namespace of a host.
#[derive(Debug)]
pub(super) struct Namespace {
    /// What every record of the namespace says.
    pub(super) shared: Vec<(Slot, Shared)>,
    pub(super) address: [u8; 4],
}

impl Host {
    pub(super) fn new(seed: u64, index: u64, (writer, group): (usize, usize), release: &str, slots: &Slots) -> Self {
        let mut random = Random::of(&[seed, 1, index]);
        let (site, role) = (*random.of_list(&SITES), *random.of_list(&ROLES));
        let name = format!("{site}-{role}-{index:03}");
        let address = [10, u8::try_from(random.below(250)).unwrap_or(0), (index >> 8) as u8, index as u8];
        let card = *random.of_list(&CARDS);
        let mut shared: Vec<(Slot, Shared)> = vec![
            (slots.daemon_version, release.into()),
            (slots.hostname, name.as_str().into()),
            (slots.location, site.into()),
            (slots.label, format!("fleet={role} ring={}", random.below(4)).into()),
            (slots.inet_diag_msg_family, 2.into()),
        ];
        if random.percent(50) {
            shared.push((slots.tag, format!("team-{role}").into()));
        }
        // Most hosts hang on two switches.
        let uplinks = if random.percent(90) { 2 } else { 1 };
        for (number, uplink) in slots.uplinks.iter().enumerate().take(uplinks) {
            shared.extend(uplink_of(uplink, number, site, &name, card, &mut random));
        }
        let namespaces = (0..20 + random.below(11)).map(|n| Namespace::new(n, address, slots, &mut random)).collect();
        let start = random.below(1 << 32);
        Self { writer, group, shared, namespaces, address, start, socket: 0, poll: 0, poll_ns: 0 }
    }
}

impl Namespace {
    /// The first namespaces are the host's own, the others belong to a container each.
    fn new(number: u64, host: [u8; 4], slots: &Slots, random: &mut Random) -> Self {
        let inode = 4_026_531_840 + number * 137 + random.below(100);
        let mut shared: Vec<(Slot, Shared)> = vec![
            (slots.netns_inode, inode.into()),
            (slots.socket_fd, (7 + number).into()),
            (slots.netlinker_id, (1 + number).into()),
            (slots.inet_diag_cgroup_id, (3_945 + 211 * number + random.below(200)).into()),
        ];
        if number < 4 {
            shared.push((slots.netns, if number == 0 { "default".into() } else { format!("netns:[{inode}]").into() }));
            return Self { shared, address: host };
        }
        let image = *random.of_list(&IMAGES);
        let app = image.rsplit('/').next().and_then(|i| i.split(':').next()).unwrap_or(image);
        let id: String = (0..4).map(|_| format!("{:016x}", random.next())).collect();
        let name = format!("{app}-{:08x}-{:05x}", random.below(1 << 32), random.below(1 << 20));
        shared.extend([
            (slots.netns, format!("cni-{:08x}-{:04x}", random.below(1 << 32), random.below(1 << 16)).into()),
            (slots.container_id, id.into()),
            (slots.container_runtime, (*random.of_list(&RUNTIMES)).into()),
            (slots.container_name, name.into()),
            (slots.container_image, image.into()),
            (slots.nsid, (if random.percent(30) { number } else { 0 }).into()),
        ]);
        Self { shared, address: [172, 17, host[3], number as u8] }
    }
}

fn uplink_of(
    uplink: &Uplink,
    number: usize,
    site: &str,
    host: &str,
    card: Card,
    random: &mut Random,
) -> Vec<(Slot, Shared)> {
    let (driver, model, vendor, device, speed, firmware) = card;
    let (rack, port) = (random.below(40), random.below(48) + 1);
    let side = ["a", "b"][number];
    let mac = random.next().to_be_bytes();
    let mac: Vec<String> = mac[..6].iter().map(|b| format!("{b:02x}")).collect();
    vec![
        (uplink.ifname, format!("enp{}s0f{number}np{number}", 1 + number * 64).into()),
        (uplink.nic_driver, driver.into()),
        (uplink.nic_model, model.into()),
        (uplink.nic_pci_vendor, vendor.into()),
        (uplink.nic_pci_device, device.into()),
        (uplink.nic_bus_info, format!("0000:{:02x}:00.{number}", 1 + number * 64).into()),
        (uplink.nic_speed_mbps, speed.into()),
        (uplink.nic_fw_version, firmware.into()),
        (uplink.lldp_chassis_name, format!("{site}-leaf-{rack:02}{side}").into()),
        (uplink.lldp_chassis_id, mac.join(":").into()),
        (uplink.lldp_mgmt_ip, format!("10.255.{rack}.{}", 10 + number).into()),
        (uplink.lldp_port_id, format!("Ethernet1/{port}").into()),
        (uplink.lldp_port_descr, format!("to {host} port {number}").into()),
    ]
}
