internal import NIOCore
internal import SallyportCore
internal import SallyportWire

/// The addresses to which a tunnel may lead, unless its entry is marked as local.
struct AddressCheck: Sendable {
    /// The ports of the gateway's own listeners.
    let ownPorts: Set<UInt16>
    /// The addresses of this host. Needed only for one of the gateway's own ports.
    let hostAddresses: @Sendable () -> Set<IPAddress>

    init(ownPorts: Set<UInt16>, hostAddresses: @escaping @Sendable () -> Set<IPAddress> = Self.interfaceAddresses) {
        self.ownPorts = ownPorts
        self.hostAddresses = hostAddresses
    }

    func permits(_ address: IPAddress, port: UInt16) -> Bool {
        address.scope == .general && !(ownPorts.contains(port) && hostAddresses().contains(address))
    }

    /// Refuses an answer in which any address is forbidden: mixed answers are not trusted.
    func check(_ addresses: [IPAddress], port: UInt16) throws(RelayRefusal) {
        guard addresses.allSatisfy({ permits($0, port: port) }) else {
            throw RelayRefusal(
                502, ProxyStatus.ErrorType.destinationIPProhibited, "The name leads to a forbidden address.")
        }
    }

    /// Refuses a target if any of its addresses is denied.
    static func check(_ addresses: [IPAddress], of target: Endpoint, by rules: AddressRules) throws(RelayRefusal) {
        for address in addresses {
            guard let rule = rules.denial(of: address, port: target.port, for: target) else { continue }
            throw RelayRefusal(
                502, ProxyStatus.ErrorType.destinationIPProhibited, "The name leads to a denied address: \(rule).")
        }
    }

    private static let interfaceAddresses: @Sendable () -> Set<IPAddress> = {
        let devices = (try? System.enumerateDevices()) ?? []
        return Set(devices.compactMap { $0.address?.ipAddress.flatMap { IPAddress($0) } })
    }
}
