internal import SallyportCore
internal import SallyportTransport

extension SocketError {
    /// The error of a connection.
    init(_ error: LoadError, fileID: StaticString = #fileID, line: UInt = #line) {
        self.init(Self.code(for: error), "\(error)", underlying: error, fileID: fileID, line: line)
    }

    private static func code(for error: LoadError) -> Code {
        switch error.code {
        case .cancelled: .cancelled
        case .notAuthorized: .notAuthorized
        case .withdrawn: .withdrawn
        case .refusedByPolicy: .refusedByPolicy
        case .invalidRequest, .invalidConfiguration: .invalidRequest
        // A second task writes.
        case .requestBodyFailed: .wrongState
        case .idleTimeout, .resourceTimeout: .serviceTimeOut
        default: isTimeout(error) ? .serviceTimeOut : .networkUnavailable
        }
    }

    /// Nobody answered in time: the server, the relay, or the server to the relay.
    private static func isTimeout(_ error: LoadError) -> Bool {
        error.underlying is ConnectTimeout || (error.underlying as? RelayRefusal)?.isTimeout == true
    }
}
