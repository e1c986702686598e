/// A version of TLS. SSL 3 is never offered and has no case.
public enum TLSVersion: String, Sendable, Hashable, Comparable, CaseIterable, Codable, CustomStringConvertible {
    /// RFC 2246. Unsafe; offered only if the settings add it.
    case tls10 = "TLS1.0"
    /// RFC 4346. Unsafe; offered only if the settings add it.
    case tls11 = "TLS1.1"
    /// RFC 5246.
    case tls12 = "TLS1.2"
    /// RFC 8446.
    case tls13 = "TLS1.3"

    private var order: Int { Self.allCases.firstIndex(of: self) ?? 0 }
    public static func < (left: TLSVersion, right: TLSVersion) -> Bool { left.order < right.order }
    public var description: String { rawValue }
}

/// The versions that a connection to an application server may use: a few bits, since each request creates and compares
/// them.
public struct TLSVersions: Sendable, Hashable {
    private let bits: UInt8

    /// TLS 1.2 and 1.3.
    public static let standard = TLSVersions([.tls12, .tls13])
    package static let all = TLSVersions(Set(TLSVersion.allCases))

    /// - Parameter allowed: any set, also one with gaps.
    public init(_ allowed: Set<TLSVersion>) { bits = allowed.reduce(0) { $0 | $1.bit } }

    private init(bits: UInt8) { self.bits = bits }

    /// If empty, no connection can be made.
    public var allowed: Set<TLSVersion> { Set(TLSVersion.allCases.filter(contains)) }
    /// Whether no version is allowed, so that no connection can be made.
    public var isEmpty: Bool { bits == 0 }
    /// The lowest allowed version; nil if there is none.
    public var minimum: TLSVersion? { TLSVersion.allCases.first(where: contains) }
    /// The highest allowed version; nil if there is none.
    public var maximum: TLSVersion? { TLSVersion.allCases.last(where: contains) }

    /// Whether the version is allowed.
    public func contains(_ version: TLSVersion) -> Bool { bits & version.bit != 0 }

    package func union(_ other: TLSVersions) -> TLSVersions { TLSVersions(bits: bits | other.bits) }
    package func intersection(_ other: TLSVersions) -> TLSVersions { TLSVersions(bits: bits & other.bits) }
    package func subtracting(_ other: TLSVersions) -> TLSVersions { TLSVersions(bits: bits & ~other.bits) }

    /// The versions between the bounds, inclusive; nil for no bound.
    package func within(_ minimum: TLSVersion?, _ maximum: TLSVersion?) -> TLSVersions {
        var bits = bits
        if let minimum { bits &= ~(minimum.bit - 1) }
        if let maximum { bits &= maximum.bit | (maximum.bit - 1) }
        return TLSVersions(bits: bits)
    }

    /// The versions that remain after an administrator's blocks and minimum; both apply to relayed connections.
    public func restricted(blocking blocked: Set<TLSVersion>, floor: TLSVersion?) -> TLSVersions {
        subtracting(TLSVersions(blocked)).within(floor, nil)
    }
}

extension TLSVersion {
    /// In ascending order of the protocol.
    fileprivate var bit: UInt8 {
        switch self {
        case .tls10: 1
        case .tls11: 2
        case .tls12: 4
        case .tls13: 8
        }
    }
}
