/// What an administrator forbids on relayed connections: the blocked versions, and all below a minimum.
package struct TLSRestriction: Sendable, Hashable, CustomStringConvertible {
    package let blocked: Set<TLSVersion>
    package let floor: TLSVersion?

    /// Nil if nothing is forbidden.
    package init?(blocking blocked: Set<TLSVersion>, floor: TLSVersion?) {
        guard !blocked.isEmpty || floor != nil else { return nil }
        self.blocked = blocked
        self.floor = floor
    }

    /// One or two sentences for an error.
    package var description: String {
        let lowest = floor.map { "The policy's lowest version is \($0)." }
        let names = blocked.sorted().map(\.description).joined(separator: " and ")
        let refused = blocked.isEmpty ? nil : "The policy blocks \(names)."
        return [lowest, refused].compactMap(\.self).joined(separator: " ")
    }
}
