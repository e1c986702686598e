internal import SallyportCore

/// What a program asks a door for, once it has said all of it.
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
    /// What goes to the server before anything else: the head of a request in absolute form.
    var head: [UInt8] = []
    /// Of a request in absolute form: how its body ends.
    var body = RequestFraming.none
    /// What the program sent behind its request: the first bytes for the server.
    var rest: [UInt8] = []
}

/// How the body of a request ends (RFC 9112 §6.3).
enum RequestFraming: Sendable, Equatable {
    case none
    case length(Int64)
    case chunked
}

/// What became of the bytes that a program has sent so far.
enum GreetingStep: Sendable, Equatable {
    /// More is needed.
    case more
    /// This goes to the program, which then says more.
    case reply([UInt8])
    case request(DoorRequest)
    /// The file by which browsers find the door was asked for.
    case proxyFile
    /// This goes to the program, and the connection ends.
    case refuse([UInt8], DoorRefusal)
}
