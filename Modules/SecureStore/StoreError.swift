public import SallyportBase

/// Why a store operation was refused or failed.
public struct StoreError: CodedError, Sendable {
    /// What failed. Two errors are equal if their codes are.
    public let code: Code
    /// A description for people. It contains no key and no value.
    public let message: String
    /// The error that caused this one, such as an encoder's; nil if there is none.
    public let underlying: (any Error)?
    /// The place in the source that made the error, for reports of faults.
    public let location: ErrorLocation

    /// For your own ``KeyProtector``, which throws the store's errors.
    public init(
        _ code: Code, _ message: String, underlying: (any Error)? = nil, fileID: StaticString = #fileID,
        line: UInt = #line
    ) {
        self.code = code
        self.message = message
        self.underlying = underlying
        location = ErrorLocation(fileID: fileID, line: line)
    }
}

/// The underlying error of ``StoreError/Code/damaged`` if a whole file of the store is missing, or is something else:
/// verification would end with the same error, and only a backup helps.
package struct StoreFileLost: Error, Sendable {
    package init() {}
}

extension StoreError {
    /// What went wrong. Later versions may add codes; handle those that you know and treat the others as failures.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String {
            case notFound, inUse, readOnly, wrongKey, keyUnavailable, damaged, unsupportedFormat, wiped, closed
            case tooLarge, invalidName, full, unsafePermissions, fileSystem, encoding, cancelled, replaced,
                internalFailure
        }
        private let value: Value

        /// There is no store in the directory.
        public static let notFound = Code(value: .notFound)
        /// Another process, or another part of this one, has the store open for writing; the message says which
        /// process. Open it read-only, or wait.
        public static let inUse = Code(value: .inUse)
        /// The store was opened read-only.
        public static let readOnly = Code(value: .readOnly)
        /// The protector's secret is not the one that wrapped this store's keys.
        public static let wrongKey = Code(value: .wrongKey)
        /// The protector's secret is not available.
        public static let keyUnavailable = Code(value: .keyUnavailable)
        /// A record or file is not what was written; the message names the collection.
        public static let damaged = Code(value: .damaged)
        /// Written by a version whose format this version cannot read.
        public static let unsupportedFormat = Code(value: .unsupportedFormat)
        /// The store was wiped and contains nothing any more.
        public static let wiped = Code(value: .wiped)
        /// The store was closed, or cannot be used any more: open it again.
        public static let closed = Code(value: .closed)
        /// A key or value is longer than its limit.
        public static let tooLarge = Code(value: .tooLarge)
        /// A collection's name has 1 to ``SecureStore/maximumNameLength`` bytes.
        public static let invalidName = Code(value: .invalidName)
        /// The disk is full, or the store has reached its maximum size, or a file the process's limit (`RLIMIT_FSIZE`,
        /// if the process ignores SIGXFSZ, which ends it otherwise). Nothing of the transaction was kept.
        public static let full = Code(value: .full)
        /// The directory, or a file with a secret, can be reached by other users or belongs to another user.
        public static let unsafePermissions = Code(value: .unsafePermissions)
        /// A file or directory cannot be read or written; the message names it and the reason.
        public static let fileSystem = Code(value: .fileSystem)
        /// A value cannot be encoded, or the stored value has another type.
        public static let encoding = Code(value: .encoding)
        /// The task was cancelled; nothing was changed.
        public static let cancelled = Code(value: .cancelled)
        /// A streamed value was replaced or removed while it was read. Read the new one.
        public static let replaced = Code(value: .replaced)
        /// An unforeseen condition, such as an error of LMDB without a code of its own; also too many open stores. The
        /// message names it.
        public static let internalFailure = Code(value: .internalFailure)

        public var description: String { value.rawValue }
    }
}
