package import SallyportCore

/// Why the gateway refused or failed.
package struct GatewayError: Error, Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    /// What went wrong.
    package struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String {
            case invalid, notFound, exists, needsConfirmation, unauthorized, forbidden, locked, expired,
                unsafePermissions
            case notInitialized, alreadyInitialized, inUse, cannotBind, fileSystem, unreachable, internalFailure
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
        /// A certificate was used that had been replaced: the store was copied.
        package static let locked = Code(value: .locked)
        package static let expired = Code(value: .expired)
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
        _ code: Code, _ message: String, underlying: (any Error)? = nil, location: ErrorLocation = ErrorLocation()
    ) {
        self.code = code
        self.message = message
        self.underlying = underlying
        self.location = location
    }

    package var description: String { "\(code): \(message)" }
    package var debugDescription: String {
        "GatewayError(\(description)\(underlying.map { ", underlying: \($0)" } ?? ""), \(location))"
    }
}

extension GatewayError: Hashable {
    package static func == (left: GatewayError, right: GatewayError) -> Bool { left.code == right.code }
    package func hash(into hasher: inout Hasher) { hasher.combine(code) }
}
