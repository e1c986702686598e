/// What a verification of the audit trail has found.
public struct AuditReport: Sendable, Hashable, Codable {
    /// A chain, as far as it is kept.
    public struct Chain: Sendable, Hashable, Codable {
        /// As in ``AuditEntry/chain``.
        public let chain: String
        /// The number of the first entry.
        public let first: Int64
        /// The number of the last entry; below ``first`` if there is none.
        public let last: Int64
    }

    /// What an entry was compared with.
    public enum Origin: String, Sendable, Hashable, Codable {
        /// The end of the chain, as the store notes it.
        case head
        /// The newest checkpoint in the store.
        case checkpoint
        /// The checkpoint that was given.
        case given
    }

    /// Something that is not as it was written.
    public struct Fault: Sendable, Hashable, Codable {
        /// What is wrong with an entry, or with the newest checkpoint.
        public enum Kind: String, Sendable, Hashable, Codable {
            /// The entry is not there, and later ones are.
            case missing
            /// The entry's content is not that of its hash.
            case changed
            /// The entry is in another entry's place.
            case misplaced
            /// The entry does not follow the one before it.
            case unlinked
            /// The entry cannot be read, or was not sealed for its place.
            case unreadable
            /// The chain ends before this entry, which a checkpoint or the store's own note names.
            case cut
            /// The entry is another than the one that a checkpoint or the store's own note names.
            case replaced
            /// The store's newest checkpoint is not signed by this gateway's authority.
            case unsigned
        }

        /// As in ``AuditEntry/chain``; empty for ``Kind/unsigned``.
        public let chain: String
        /// The number of the first entry concerned.
        public let number: Int64
        /// The number of the last entry concerned; equal to ``number`` for a single one.
        public let through: Int64
        /// What is wrong.
        public let kind: Kind
        /// What told.
        public let origin: Origin?
    }

    /// Each chain of the store.
    public internal(set) var chains: [Chain] = []
    /// The first hundred of each chain.
    public internal(set) var faults: [Fault] = []
    /// The time of the newest checkpoint in the store, in milliseconds since 1970; nil if there is none.
    public internal(set) var checkpoint: Int64?

    /// Whether nothing was changed, moved or removed, as far as this can be seen.
    public var isSound: Bool { faults.isEmpty }

    init() {}
}

extension AuditReport.Fault: CustomStringConvertible {
    public var description: String {
        let entries = number == through ? "entry \(number)" : "entries \(number) to \(through)"
        return chain.isEmpty ? what : "\(chain) \(entries): \(what)"
    }

    private var what: String {
        switch kind {
        case .missing: "missing"
        case .changed: "changed: its content is not that of its hash"
        case .misplaced: "in the place of another entry"
        case .unlinked: "does not follow the entry before it"
        case .unreadable: "cannot be read"
        case .cut: "cut off: the chain ends before it, and \(source) has it"
        case .replaced: "replaced: \(source) has another entry of this number"
        case .unsigned: "the newest checkpoint is not signed by this gateway's authority"
        }
    }

    private var source: String {
        switch origin {
        case .head, nil: "the store's note of its end"
        case .checkpoint: "the newest checkpoint"
        case .given: "the given checkpoint"
        }
    }
}
