internal import Glibc
internal import NIOCore

/// Why the system refused to listen.
enum BindFailure {
    /// The system's reason, in its words.
    static func reason(_ error: any Error) -> String {
        guard let error = error as? IOError else { return "\(error)" }
        return String(cString: strerror(error.errnoCode))
    }
}
