/// What a reader has made of the bytes of a connection.
package enum Reading: Equatable {
    /// - Parameter end: how many bytes the answer took; nil where the end of the connection is its end.
    case whole(Answer, end: Int?)
    /// The connection ended first.
    case cut
    case refused(String)

    package var answer: Answer? { if case .whole(let answer, _) = self { answer } else { nil } }
    package var isWhole: Bool { answer != nil }
}

/// The meaning of an answer, as bytes.
package struct Answer: Equatable {
    package struct Field: Equatable {
        package var name: [UInt8]
        package var value: [UInt8]
    }

    package var status = 0
    package var fields: [Field] = []
    package var body: [UInt8] = []
    package var trailers: [Field] = []
    /// Fields of the interim answers with the status 103.
    package var hints: [[Field]] = []
    /// The connection may serve another request.
    package var keepsConnection = false
}
