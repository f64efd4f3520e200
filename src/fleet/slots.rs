//! The slots of the columns that the kernel doesn't fill.

use super::columns::{Columns, Slot};

macro_rules! slots {
    ($($name:ident),* $(,)?) => {
        /// One slot each.
        #[derive(Debug)]
        pub(super) struct Slots {
            $(pub(super) $name: Slot,)*
            /// Of the first and the second uplink.
            pub(super) uplinks: [Uplink; 2],
        }

        impl Slots {
            pub(super) fn new(columns: &Columns<'_>) -> Self {
                Self {
                    $($name: columns.slot(stringify!($name)),)*
                    uplinks: [Uplink::new(columns, 1), Uplink::new(columns, 2)],
                }
            }
        }
    };
}

slots! {
    schema_version, daemon_version, timestamp_ns, hostname, location, netns, netns_inode, nsid,
    container_id, container_runtime, container_name, container_image, label, tag,
    record_counter, socket_fd, netlinker_id,
    enrich_socket_dest_locality, enrich_socket_dest_egress_ifindex, enrich_socket_dest_egress_ifname,
    enrich_socket_dest_asn, enrich_socket_dest_network_owner,
    inet_diag_msg_family, inet_diag_msg_socket_source, inet_diag_msg_socket_destination, inet_diag_msg_socket_cookie,
    inet_diag_msg_socket_destination_port, inet_diag_msg_state, inet_diag_cgroup_id,
}

/// The slots of an uplink.
#[derive(Debug)]
pub(super) struct Uplink {
    pub(super) ifname: Slot,
    pub(super) nic_driver: Slot,
    pub(super) nic_model: Slot,
    pub(super) nic_pci_vendor: Slot,
    pub(super) nic_pci_device: Slot,
    pub(super) nic_bus_info: Slot,
    pub(super) nic_speed_mbps: Slot,
    pub(super) nic_fw_version: Slot,
    pub(super) lldp_chassis_name: Slot,
    pub(super) lldp_chassis_id: Slot,
    pub(super) lldp_mgmt_ip: Slot,
    pub(super) lldp_port_id: Slot,
    pub(super) lldp_port_descr: Slot,
}

impl Uplink {
    fn new(columns: &Columns<'_>, number: u8) -> Self {
        let slot = |name: &str| columns.slot(&format!("uplink{number}_{name}"));
        Self {
            ifname: slot("ifname"),
            nic_driver: slot("nic_driver"),
            nic_model: slot("nic_model"),
            nic_pci_vendor: slot("nic_pci_vendor"),
            nic_pci_device: slot("nic_pci_device"),
            nic_bus_info: slot("nic_bus_info"),
            nic_speed_mbps: slot("nic_speed_mbps"),
            nic_fw_version: slot("nic_fw_version"),
            lldp_chassis_name: slot("lldp_chassis_name"),
            lldp_chassis_id: slot("lldp_chassis_id"),
            lldp_mgmt_ip: slot("lldp_mgmt_ip"),
            lldp_port_id: slot("lldp_port_id"),
            lldp_port_descr: slot("lldp_port_descr"),
        }
    }
}
