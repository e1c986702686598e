internal import SallyportBase

/// A message of the kernel's about sockets.
package enum SocketAnswer: Sendable, Hashable {
    case connection(TCPConnection)
    /// The end of a list.
    case done
    /// A request failed: errno. 0 is an acknowledgement.
    case failure(Int32)
    /// Anything else, such as a socket of another family.
    case other

    /// The longest datagram that is read: the kernel fills up to 32 KiB.
    package static let maximumLength = 64 << 10

    /// The answers of one datagram to the request of this number, without those to others; nil if the lengths are
    /// inconsistent, so that it cannot be parsed, or if messages were lost.
    package static func answers(in bytes: [UInt8], to sequence: UInt32) -> [SocketAnswer]? {
        guard bytes.count <= maximumLength else { return nil }
        var answers: [SocketAnswer] = []
        var start = 0
        while start < bytes.count {
            var header = ByteReader(bytes, start..<bytes.count)
            guard let length = header.hostOrder(4).flatMap(Int.init(exactly:)), length >= 16,
                length <= bytes.count - start, let type = header.hostOrder(2), header.hostOrder(2) != nil,
                let number = header.hostOrder(4), header.hostOrder(4) != nil,
                let answer = answer(type, Array(bytes[(start + 16)..<(start + length)]))
            else { return nil }
            if number == UInt64(sequence) { answers.append(answer) }
            start += (length + 3) & ~3
        }
        return answers
    }

    /// Nil if the body is shorter than its type requires, and for lost messages.
    private static func answer(_ type: UInt64, _ body: [UInt8]) -> SocketAnswer? {
        switch type {
        case 2:
            var reader = ByteReader(body)
            return reader.hostOrder(4).map { .failure(Int32(bitPattern: 0 &- UInt32(truncatingIfNeeded: $0))) }
        // The result of a list comes with its end.
        case 3:
            var reader = ByteReader(body)
            let result = reader.hostOrder(4).map { Int32(bitPattern: 0 &- UInt32(truncatingIfNeeded: $0)) } ?? 0
            return result > 0 ? .failure(result) : .done
        case 4: return nil
        case 20: return connection(body)
        default: return .other
        }
    }

    /// `struct inet_diag_msg`.
    private static func connection(_ body: [UInt8]) -> SocketAnswer? {
        guard body.count >= 72 else { return nil }
        let identifier = Array(body[4..<(4 + TCPConnection.identifierLength)])
        return TCPConnection(family: body[0], identifier: identifier).map { .connection($0) } ?? .other
    }
}

extension ByteReader {
    /// A number as this machine has it in memory.
    fileprivate mutating func hostOrder(_ length: Int) -> UInt64? {
        guard let number = number(length) else { return nil }
        #if _endian(little)
        return number.byteSwapped >> UInt64(64 - 8 * length)
        #else
        return number
        #endif
    }
}
