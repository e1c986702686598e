import SallyportCore

@testable import SallyportReachability

extension FuzzTarget {
    static let network = [netlink]

    /// What a process of the machine could send. The state that is made of it is bounded, whatever it says.
    private static let netlink = FuzzTarget(
        "netlink",
        words: [
            "\u{10}\0\0\0", "\u{10}\0\u{2}\0", "\u{14}\0", "\u{18}\0", "\u{3}\0", "eth0\0", "\u{8}\0\u{1}\0", "\u{2}",
            "\u{a}", "\0\0\0\0",
        ]
    ) { bytes throws(BrokenProperty) in
        guard let messages = NetlinkMessage.messages(in: bytes) else { return }
        try demand(messages.count <= bytes.count / 16, "There are more messages than bytes for them.")
        var state = NetworkState()
        for message in messages {
            state.add(message.content) { InterfaceFacts(hardware: $0.hardware, made: $0.kind) }
            guard case .route(let route) = message.content else { continue }
            try demand(route.length <= route.destination.bytes.count * 8, "A prefix is longer than its address.")
            _ = route.destination.isIn(route.destination, route.length)
        }
        _ = state.isAvailable
        for address in state.addresses { _ = state.way(from: address.address, to: .v4(1)) }
    }
}
