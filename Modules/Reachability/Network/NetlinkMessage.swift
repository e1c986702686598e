package import SallyportCore

/// A message of the kernel's routing sockets (rtnetlink(7)), as far as it says where packets go.
package struct NetlinkMessage: Sendable, Hashable {
    package enum Content: Sendable, Hashable {
        case link(Link)
        case address(Address)
        case route(Route)
        /// A link, address or route changed or went; what it was is not read.
        case change
        /// The end of what was asked for.
        case done
        /// A question failed: errno. 0 acknowledges.
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
        /// `veth`, `wireguard`, …; nil for what a driver made.
        package var kind: String?
        /// It is up and can carry packets.
        package var isRunning: Bool
    }

    package struct Address: Sendable, Hashable {
        package var interface: UInt32
        package var address: IPAddress
        /// Whether it is usable: not still looked for a double, nor found to have one.
        package var isUsable: Bool
    }

    package struct Route: Sendable, Hashable {
        package enum Kind: Sendable, Hashable {
            /// To a neighbour or the host itself.
            case leads
            /// Packets are dropped or refused.
            case refuses
            /// Another table is asked.
            case passes
        }
        package var kind: Kind
        package var destination: IPAddress
        package var length: Int
        /// The lowest counts.
        package var priority: UInt32
        package var table: UInt32
        /// More than one where packets are spread; none where the message names none.
        package var interfaces: [UInt32]
        package var isDead: Bool
    }

    package var content: Content
    /// Of the question that it answers; 0 for what nobody asked.
    package var sequence: UInt32
    /// Of the socket that is answered; 0 for what nobody asked.
    package var port: UInt32
    /// What is told changed while it was told: it must be asked for again.
    package var isInterrupted: Bool
}

// MARK: Questions

extension NetlinkMessage {
    /// What can be asked for, all of it at once.
    package enum Question: UInt16, Sendable, Hashable, CaseIterable {
        case links = 18
        case addresses = 22
        case routes = 26

        /// Without the family, which is any.
        package func octets(sequence: UInt32) -> [UInt8] {
            let body: Int
            switch self {
            case .links: body = 16
            case .addresses: body = 8
            case .routes: body = 12
            }
            // NLM_F_REQUEST | NLM_F_DUMP.
            return Self.octets(UInt32(16 + body), 4) + Self.octets(UInt32(rawValue), 2) + Self.octets(0x301, 2)
                + Self.octets(sequence, 4) + Self.octets(0, 4) + [UInt8](repeating: 0, count: body)
        }

        private static func octets(_ number: UInt32, _ length: Int) -> [UInt8] {
            let octets = (0..<length).map { UInt8(truncatingIfNeeded: number >> UInt32(8 * $0)) }
            #if _endian(little)
            return octets
            #else
            return octets.reversed()
            #endif
        }
    }
}
