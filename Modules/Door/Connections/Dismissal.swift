/// The refusal of a connection whose program may not come in. The program is told in its own protocol, so the door
/// waits for its first byte, but not long; such connections are few, and take no place of those that may come in.
struct Dismissal: Sendable {
    /// The number of connections that a door holds for this; the oldest ends for a further one.
    static let limit = 64
    /// How many bytes are read behind the first ones: closing a connection with unread bytes resets it, and the program
    /// may lose the answer.
    private static let surplus = 64 << 10

    let socket: DoorSocket

    /// Answers in the protocol in which the program begins to speak, and closes the connection. A connection that is
    /// closed before (``DoorSocket/close(because:)``) ends without an answer.
    ///
    /// - Returns: the form is nil if the program has not said it.
    func run() async -> (refusal: DoorRefusal, form: DoorRequest.Form?) {
        guard let first = (try? await socket.read())?.first else {
            let refusal = await socket.failure ?? .programLost
            await socket.close()
            return (refusal, nil)
        }
        try? await socket.write(Self.answer(to: first))
        await socket.endWriting()
        await drain()
        await socket.close()
        return (.notAdmitted, first == 5 ? .socks5 : nil)
    }

    private static func answer(to first: UInt8) -> [UInt8] {
        switch first {
        case 5: SOCKSReply.noMethod
        case 4: SOCKSReply.ofVersion4
        default: DoorRefusal.notAdmitted.httpAnswer
        }
    }

    /// Reads until the program has ended its side.
    private func drain() async {
        var left = Self.surplus
        while left > 0, let bytes = try? await socket.read() { left -= bytes.count }
    }
}
