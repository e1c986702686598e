/// A version of TLS. SSL 3 is never offered and has no case.
public enum TLSVersion: String, Sendable, Hashable, Comparable, CaseIterable, Codable, CustomStringConvertible {
    case tls10 = "TLS1.0"
    case tls11 = "TLS1.1"
    case tls12 = "TLS1.2"
    case tls13 = "TLS1.3"

    private var order: Int { Self.allCases.firstIndex(of: self) ?? 0 }
    public static func < (left: TLSVersion, right: TLSVersion) -> Bool { left.order < right.order }
    public var description: String { rawValue }
}

/// The versions that a connection to an application server may use.
public struct TLSVersions: Sendable, Hashable {
    /// In ascending order of the protocol; empty means that no connection can be made.
    public let allowed: Set<TLSVersion>

    /// TLS 1.2 and 1.3.
    public static let standard = TLSVersions([.tls12, .tls13])

    public init(_ allowed: Set<TLSVersion>) { self.allowed = allowed }

    public var minimum: TLSVersion? { allowed.min() }
    public var maximum: TLSVersion? { allowed.max() }

    /// What is left when an administrator blocks versions and sets a floor; both hold on relayed connections.
    public func restricted(blocking blocked: Set<TLSVersion>, floor: TLSVersion?) -> TLSVersions {
        TLSVersions(allowed.subtracting(blocked).filter { version in floor.map { version >= $0 } ?? true })
    }
}
