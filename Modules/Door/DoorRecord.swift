internal import SallyportLoading

/// How one connection through a door went: one JSON object, whose fields are named as the properties are. Holds no path,
/// query, field or credential. A field without a value is left out.
public struct DoorRecord: Sendable, Hashable, Codable {
    /// When the program connected, in UTC (ISO 8601).
    public var started: String
    /// Until both sides had ended, in seconds.
    public var duration: Double = 0
    /// Where it came in, as ``DoorPlace`` describes it.
    public var place: String
    /// The number of the program's user; nil if the kernel named none.
    public var user: UInt32?
    /// `connect`, `http`, `socks5` or `forward`; nil if the program did not get as far.
    public var form: String?
    /// HOST:PORT.
    public var target: String?
    /// `relay`, `relay:CLUSTER` or `direct`; nil if no way was opened.
    public var route: String?
    /// What of the policy decided, as `explain` says it.
    public var rule: String?
    /// Bytes from the program to the server.
    public var sent = 0
    /// Bytes from the server to the program.
    public var received = 0
    /// `complete`; the code of a `LoadError`; or why the door itself refused: `notAdmitted`,
    /// `credentialMissing`, `credentialRefused`, `originForm`, `unknownAddress`, `tooSlow`, `tooManyConnections` and
    /// others.
    public var end: String = "complete"

    init(place: String, user: UInt32?) {
        (self.place, self.user) = (place, user)
        started = LoadRecord.text(LoadRecord.now)
    }

    /// One line of JSON, its fields in alphabetical order.
    public var json: String { LoadRecord.line(of: self) }
}
