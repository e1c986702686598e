internal import SallyportCore
internal import SallyportTransport

extension SocketError {
    /// The socket error for a failed connection.
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
        // Another task is writing already.
        case .requestBodyFailed: .wrongState
        case .idleTimeout, .resourceTimeout: .serviceTimeOut
        default: isTimeout(error) ? .serviceTimeOut : .networkUnavailable
        }
    }

    /// A time-out: of the server, of the relay, or of the relay's connection to the server.
    private static func isTimeout(_ error: LoadError) -> Bool {
        error.underlying is ConnectTimeout || (error.underlying as? RelayRefusal)?.isTimeout == true
    }
}
