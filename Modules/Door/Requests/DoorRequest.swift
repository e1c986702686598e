internal import SallyportCore

/// A program's request to a door, completely read.
struct DoorRequest: Sendable, Equatable {
    enum Form: String, Sendable {
        /// A tunnel, by HTTP (RFC 9110 §9.3.6).
        case connect
        /// A tunnel, by SOCKS 5 (RFC 1928).
        case socks5
        /// One request in absolute form (RFC 9112 §3.2.2).
        case http
        /// A forwarded place, whose connections all lead to one server.
        case forward
    }

    var form: Form
    var target: Endpoint
    /// The head that is sent to the server first; empty unless the form is ``Form/http``.
    var head: [UInt8] = []
    /// How the request's body ends; `none` unless the form is ``Form/http``.
    var body = RequestFraming.none
    /// The bytes that the program sent after its request: the first ones for the server.
    var rest: [UInt8] = []
}

/// How the body of a request ends (RFC 9112 §6.3).
enum RequestFraming: Sendable, Equatable {
    case none
    case length(Int64)
    case chunked
}

/// The result of reading the bytes that a program has sent so far.
enum GreetingStep: Sendable, Equatable {
    /// More is needed.
    case more
    /// These bytes are sent to the program, which then sends more.
    case reply([UInt8])
    case request(DoorRequest)
    /// The program asks for the proxy file, by which browsers find the door.
    case proxyFile
    /// These bytes are sent to the program, and the connection ends.
    case refuse([UInt8], DoorRefusal)
}
