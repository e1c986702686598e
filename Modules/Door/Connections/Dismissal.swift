internal import Glibc

/// The end of a connection whose program may not come in. The door does not wait for what the program has to say.
struct Dismissal: Sendable {
    let refusal: DoorRefusal
    /// Nil if the program has not said it.
    let form: DoorRequest.Form?

    /// Answers a connection that does not block, in the protocol of what has come by now, or in HTTP if that is
    /// nothing; and closes it.
    static func of(_ connection: Int32) -> Dismissal {
        defer { close(connection) }
        // What has come is taken, since a connection that is closed with unread bytes is reset.
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = unsafe recv(connection, &bytes, bytes.count, 0)
        guard count > 0 || count < 0 && errno == EAGAIN else { return Dismissal(refusal: .programLost, form: nil) }
        let first = count > 0 ? bytes.first : nil
        let answer = self.answer(to: first)
        // A new connection has room for it.
        _ = unsafe send(connection, answer, answer.count, Int32(MSG_NOSIGNAL))
        return Dismissal(refusal: .notAdmitted, form: first == 5 ? .socks5 : nil)
    }

    private static func answer(to first: UInt8?) -> [UInt8] {
        switch first {
        case 5: SOCKSReply.noMethod
        case 4: SOCKSReply.ofVersion4
        default: DoorRefusal.notAdmitted.httpAnswer
        }
    }
}
