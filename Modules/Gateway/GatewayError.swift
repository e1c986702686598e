package import SallyportBase

/// Why the gateway refused or failed.
package struct GatewayError: CodedError, Sendable {
    /// What went wrong.
    package struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String {
            case invalid, notFound, exists, needsConfirmation, unauthorized, forbidden, retired, locked, expired,
                limited, keyUsed, keyExpired
            case unsafePermissions, notInitialized, alreadyInitialized, inUse, cannotBind, fileSystem
            case unreachable, internalFailure
        }
        private let value: Value

        /// A value outside what is allowed; the message says which.
        package static let invalid = Code(value: .invalid)
        package static let notFound = Code(value: .notFound)
        package static let exists = Code(value: .exists)
        /// Instances would be wiped, and that was not confirmed.
        package static let needsConfirmation = Code(value: .needsConfirmation)
        /// Neither a certificate nor credentials that are accepted.
        package static let unauthorized = Code(value: .unauthorized)
        /// Known, and not allowed.
        package static let forbidden = Code(value: .forbidden)
        /// A certificate that a renewed one has replaced.
        package static let retired = Code(value: .retired)
        /// A replaced certificate asked for renewal: the store was copied.
        package static let locked = Code(value: .locked)
        package static let expired = Code(value: .expired)
        /// More than one instance or one source may ask.
        package static let limited = Code(value: .limited)
        /// The right access key, after its use.
        package static let keyUsed = Code(value: .keyUsed)
        /// The right access key, after its time.
        package static let keyExpired = Code(value: .keyExpired)
        package static let unsafePermissions = Code(value: .unsafePermissions)
        package static let notInitialized = Code(value: .notInitialized)
        package static let alreadyInitialized = Code(value: .alreadyInitialized)
        package static let inUse = Code(value: .inUse)
        package static let cannotBind = Code(value: .cannotBind)
        package static let fileSystem = Code(value: .fileSystem)
        /// The running gateway does not answer on its administration socket.
        package static let unreachable = Code(value: .unreachable)
        package static let internalFailure = Code(value: .internalFailure)

        package var description: String { value.rawValue }
    }

    package let code: Code
    /// For the administrator or the client. Holds no secret.
    package let message: String
    package let underlying: (any Error)?
    package let location: ErrorLocation

    package init(
        _ code: Code, _ message: String, underlying: (any Error)? = nil, fileID: StaticString = #fileID,
        line: UInt = #line
    ) {
        self.code = code
        self.message = message
        self.underlying = underlying
        location = ErrorLocation(fileID: fileID, line: line)
    }
}
