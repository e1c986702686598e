/// A number of bytes, such as the limit of a body: `.mebibytes(4)`.
///
/// The number is taken as it is: one below zero is less than every size.
public struct ByteCount: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The number itself.
    public let bytes: Int

    /// The same as ``bytes(_:)``.
    public init(bytes: Int) { self.bytes = bytes }

    /// `count` bytes.
    public static func bytes(_ count: Int) -> ByteCount { ByteCount(bytes: count) }
    /// `count` times 1,024 bytes (KiB).
    public static func kibibytes(_ count: Int) -> ByteCount { ByteCount(bytes: count << 10) }
    /// `count` times 1,048,576 bytes (MiB).
    public static func mebibytes(_ count: Int) -> ByteCount { ByteCount(bytes: count << 20) }

    /// Whether the left number is less than the right one.
    public static func < (left: ByteCount, right: ByteCount) -> Bool { left.bytes < right.bytes }

    /// The number in full with its unit, such as `4194304 bytes`.
    public var description: String { "\(bytes) bytes" }
}
