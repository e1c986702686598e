internal import Glibc
internal import NIOCore

/// Why the system refused to listen.
enum BindFailure {
    static func isKnown(_ error: any Error) -> Bool {
        error is IOError || error is SocketAddressError || error is SocketAddressError.UnknownHost
    }

    /// The system's reason, in its words.
    static func reason(_ error: any Error) -> String {
        switch error {
        case let error as IOError: String(cString: strerror(error.errnoCode))
        case is SocketAddressError.UnknownHost: "The name is not known"
        default: "\(error)"
        }
    }
}
