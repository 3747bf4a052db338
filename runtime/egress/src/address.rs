//! Is an address public? An address goes in; the name of the reserved range it lies in, if any, comes out.
//!
//! Anything that embeds an IPv4 address (mapped, compatible, translated, 6to4, NAT64) is judged by what it embeds or
//! refused as a whole: it is a second spelling of the same machine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The reserved range that holds `address`, or nothing when it is public.
pub fn reserved(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(v4) => reserved_v4(v4),
        IpAddr::V6(v6) => reserved_v6(v6),
    }
}

/// (network, prefix length, name), from the IANA special-purpose registries.
const V4: [([u8; 4], u32, &str); 16] = [
    ([0, 0, 0, 0], 8, "this network"),
    ([10, 0, 0, 0], 8, "private"),
    ([100, 64, 0, 0], 10, "carrier-grade NAT"),
    ([127, 0, 0, 0], 8, "loopback"),
    ([169, 254, 0, 0], 16, "link-local"),
    ([172, 16, 0, 0], 12, "private"),
    ([192, 0, 0, 0], 24, "protocol assignments"),
    ([192, 0, 2, 0], 24, "documentation"),
    ([192, 88, 99, 0], 24, "6to4 relay"),
    ([192, 168, 0, 0], 16, "private"),
    ([198, 18, 0, 0], 15, "benchmarking"),
    ([198, 51, 100, 0], 24, "documentation"),
    ([203, 0, 113, 0], 24, "documentation"),
    ([224, 0, 0, 0], 4, "multicast"),
    ([240, 0, 0, 0], 4, "reserved"),
    ([255, 255, 255, 255], 32, "broadcast"),
];

/// (network, prefix length, name); only 2000::/3 is global unicast, so everything outside it is refused first.
const V6: [([u16; 8], u32, &str); 6] = [
    ([0x2001, 0, 0, 0, 0, 0, 0, 0], 23, "protocol assignments"),
    ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32, "documentation"),
    ([0x2002, 0, 0, 0, 0, 0, 0, 0], 16, "6to4"),
    ([0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0], 48, "AS112"),
    ([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20, "documentation"),
    ([0x3ffe, 0, 0, 0, 0, 0, 0, 0], 16, "6bone"),
];

fn reserved_v4(address: Ipv4Addr) -> Option<&'static str> {
    let bits = u32::from(address);
    V4.iter()
        .find(|(network, length, _)| (bits ^ u32::from(Ipv4Addr::from(*network))).checked_shr(32 - length) == Some(0))
        .map(|(_, _, name)| *name)
}

fn reserved_v6(address: Ipv6Addr) -> Option<&'static str> {
    if let Some(v4) = address.to_ipv4_mapped() {
        return Some(reserved_v4(v4).unwrap_or("IPv4-mapped"));
    }
    if address.is_loopback() {
        return Some("loopback");
    }
    let bits = u128::from(address);
    if bits >> 125 != 0b001 {
        return Some("not global unicast");
    }
    V6.iter()
        .find(|(network, length, _)| (bits ^ u128::from(Ipv6Addr::from(*network))) >> (128 - length) == 0)
        .map(|(_, _, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reserved_range_is_named_and_its_neighbours_are_public() {
        let check = |text: &str, public: bool| {
            let address: IpAddr = text.parse().expect("an address");
            assert_eq!(reserved(address).is_none(), public, "{text} {:?}", reserved(address));
        };
        for private in [
            "0.0.0.0",
            "0.255.255.255",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.255",
            "169.254.169.254",
            "169.254.170.2",
            "172.16.0.0",
            "172.31.255.255",
            "192.0.0.192",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "100.100.100.200",
            "::1",
            "::",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "fe80::1",
            "fec0::1",
            "fc00::1",
            "fd00:ec2::254",
            "2001:db8::1",
            "100::1",
            "ff02::1",
            "2001::1",
            "3fff::1",
            "5f00::1",
        ] {
            check(private, false);
        }
        for public in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.1",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700::1111",
            "2a00::1",
            "2001:4860:4860::8888",
        ] {
            check(public, true);
        }
    }
}
