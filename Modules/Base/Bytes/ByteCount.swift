/// A number of bytes.
public struct ByteCount: Sendable, Hashable, Comparable, CustomStringConvertible {
    public let octets: Int
    public init(octets: Int) { self.octets = octets }

    public static func bytes(_ count: Int) -> ByteCount { ByteCount(octets: count) }
    public static func kilobytes(_ count: Int) -> ByteCount { ByteCount(octets: count << 10) }
    public static func megabytes(_ count: Int) -> ByteCount { ByteCount(octets: count << 20) }

    public static func < (left: ByteCount, right: ByteCount) -> Bool { left.octets < right.octets }

    public var description: String { "\(octets) bytes" }
}
