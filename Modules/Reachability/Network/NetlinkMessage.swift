package import SallyportCore

/// A message of the kernel's routing sockets (rtnetlink(7)), as far as it determines where packets go.
package struct NetlinkMessage: Sendable, Hashable {
    package enum Content: Sendable, Hashable {
        case link(Link)
        case address(Address)
        case route(Route)
        /// A link, address or route changed or disappeared; the details are not read.
        case change
        /// The end of the requested data.
        case done
        /// A request failed: errno. 0 is an acknowledgement.
        case failure(Int32)
        /// Messages were lost.
        case overrun
        /// Anything else.
        case other
    }

    package struct Link: Sendable, Hashable {
        package var index: UInt32
        package var name: String
        /// `ARPHRD_…`.
        package var hardware: UInt16
        /// `veth`, `wireguard`, …; nil for a driver's interface.
        package var kind: String?
        /// It is up and can carry packets.
        package var isRunning: Bool
    }

    package struct Address: Sendable, Hashable {
        package var interface: UInt32
        package var address: IPAddress
        /// Whether it is usable: neither being checked for a duplicate, nor a duplicate.
        package var isUsable: Bool
    }

    package struct Route: Sendable, Hashable {
        package enum Kind: Sendable, Hashable {
            /// To a neighbour or to the host itself.
            case leads
            /// Packets are dropped or refused.
            case refuses
            /// Another table is consulted.
            case passes
        }
        package var kind: Kind
        package var destination: IPAddress
        package var length: Int
        /// The lowest priority is used.
        package var priority: UInt32
        package var table: UInt32
        /// Several if packets are distributed; none if the message names none.
        package var interfaces: [UInt32]
        package var isDead: Bool
    }

    package var content: Content
    /// The number of the request that it answers; 0 for a notification.
    package var sequence: UInt32
    /// The port of the socket that it answers; 0 for a notification.
    package var port: UInt32
    /// The data changed while it was sent: it must be requested again.
    package var isInterrupted: Bool
}

// MARK: Requests

extension NetlinkMessage {
    /// The kinds of data that can be requested, each as a whole.
    package enum Question: UInt16, Sendable, Hashable, CaseIterable {
        case links = 18
        case addresses = 22
        case routes = 26

        /// For all address families.
        package func bytes(sequence: UInt32) -> [UInt8] {
            let body: Int
            switch self {
            case .links: body = 16
            case .addresses: body = 8
            case .routes: body = 12
            }
            // NLM_F_REQUEST | NLM_F_DUMP.
            return Self.bytes(UInt32(16 + body), 4) + Self.bytes(UInt32(rawValue), 2) + Self.bytes(0x301, 2)
                + Self.bytes(sequence, 4) + Self.bytes(0, 4) + [UInt8](repeating: 0, count: body)
        }

        private static func bytes(_ number: UInt32, _ length: Int) -> [UInt8] {
            let bytes = (0..<length).map { UInt8(truncatingIfNeeded: number >> UInt32(8 * $0)) }
            #if _endian(little)
            return bytes
            #else
            return bytes.reversed()
            #endif
        }
    }
}
