public import SallyportCore

/// The settings of a ``Door``.
///
/// ```swift
/// var configuration = DoorConfiguration(listeningOn: [.loopback(port: 1080)])
/// configuration.forwards = [.init(from: .loopback(port: 5432), to: try Endpoint("db.corp.example:5432"))]
/// ```
public struct DoorConfiguration: Sendable {
    /// Where HTTP and SOCKS are taken.
    public var places: [DoorPlace]
    /// Places that lead to one server each, without a word of a proxy's protocol.
    public var forwards: [Forward] = []
    /// The users, by number, who may come in besides the one that the process runs as.
    public var allowedUsers: Set<UInt32> = []
    /// What programs of other users show to come in; nil if none of them may. See ``DoorCredential``.
    public var credential: DoorCredential?
    /// Whether `GET /proxy.pac` is answered with the file by which browsers find the door.
    public var servesProxyFile = false
    public var limits = DoorLimits()
    /// Called with the record of each connection when it is over, on any thread; must not block.
    public var onRecord: (@Sendable (DoorRecord) -> Void)?

    public init(listeningOn places: [DoorPlace] = [.loopback()]) { self.places = places }

    /// A place whose connections all lead to one server, as `ssh -L` has it.
    public struct Forward: Sendable, Hashable {
        public var place: DoorPlace
        public var target: Endpoint

        public init(from place: DoorPlace, to target: Endpoint) {
            self.place = place
            self.target = target
        }
    }
}

/// How much of a door programs may use.
public struct DoorLimits: Sendable, Hashable {
    /// Connections at once in all; further ones are closed at once.
    public var connections = 8192
    /// Connections at once of one user, and of all programs together whose user is not known.
    public var connectionsPerUser = 8192
    /// Connections that have not said yet where they lead; the oldest gives way to a new one.
    public var greetings = 1024
    /// How long a program may take to say where its connection leads.
    public var greetingTimeout = Duration.seconds(10)
    /// How long opening the way to the server may take.
    public var connectTimeout = Duration.seconds(10)
    /// Ways that are opened at once; further ones wait for their turn. A relay takes the connections of one address for a
    /// flood if too many of them are unauthenticated at once.
    public var openings = 48
    /// The longest time without a byte in either direction; no limit if nil.
    public var idleTimeout: Duration?

    public init() {}
}
