/// Cuts bytes into lines. Of a line that is too long it keeps the beginning.
package struct LineSplitter: Sendable {
    private let limit: Int
    private var partial: [UInt8] = []

    /// - Parameter limit: how many bytes of a line are kept; one more shows that it is too long.
    package init(limit: Int) { self.limit = limit + 1 }

    /// The lines that end in these bytes, without their ends.
    package mutating func take(_ bytes: some Collection<UInt8>) -> [[UInt8]] {
        var lines: [[UInt8]] = []
        for byte in bytes {
            guard byte == UInt8(ascii: "\n") else {
                if partial.count < limit { partial.append(byte) }
                continue
            }
            lines.append(partial)
            partial = []
        }
        return lines
    }
}
