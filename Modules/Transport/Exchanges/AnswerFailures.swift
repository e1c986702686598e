internal import SallyportBase
internal import SallyportCore

// Why an answer is refused.
extension HeadReader.Outcome {
    /// - Parameters:
    ///   - limit: of the header block.
    ///   - length: how many bytes of the block were read, the last line included.
    /// - Returns: nil if the exchange goes on.
    func failure(_ limit: ByteCount, after length: Int) -> LoadError? {
        switch self {
        case .more, .whole: nil
        case .tooLong: LoadError(.responseTooLarge, at: .response, "The header block is longer than \(limit).")
        case .switched: LoadError(.protocolViolation, at: .response, "The server changed the protocol unasked.")
        case .malformed:
            LoadError(
                .protocolViolation, at: .response,
                "The line of the header block that ends with its byte \(length) is not one of HTTP.")
        }
    }
}

extension StatusLine {
    /// Whether an incomplete line may become a status line.
    static func mayBegin(_ line: Slice<UnsafeRawBufferPointer>) -> Bool {
        unsafe zip(line, "HTTP/1.".utf8).allSatisfy { $0 == $1 }
    }

    static var missing: LoadError {
        LoadError(.protocolViolation, at: .response, "The server's bytes are not HTTP.")
    }
}

extension BodyReader {
    static var brokenChunks: LoadError {
        LoadError(.protocolViolation, at: .response, "The chunks of the body are broken.")
    }
}
