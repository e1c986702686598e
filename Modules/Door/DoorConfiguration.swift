public import SallyportCore

/// The settings of a ``Door``.
///
/// ```swift
/// var configuration = DoorConfiguration(listeningOn: [.loopback(port: 1080)])
/// configuration.forwards = [.init(from: .loopback(port: 5432), to: try Endpoint("db.corp.example:5432"))]
/// ```
public struct DoorConfiguration: Sendable {
    /// The addresses and Unix sockets at which the door speaks HTTP and SOCKS.
    public var places: [DoorPlace]
    /// Further places, each of which leads to one server; no proxy protocol is spoken there.
    public var forwards: [Forward] = []
    /// The numbers of the users whose programs may use the door besides those of the process's own user.
    public var allowedUsers: Set<UInt32> = []
    /// The credential by which programs of all other users may use the door; nil to refuse them.
    public var credential: DoorCredential?
    /// Whether `GET /proxy.pac` is answered with the file by which browsers find the door.
    public var servesProxyFile = false
    /// The limits, each with a default.
    public var limits = DoorLimits()
    /// Called with the record of each connection when it is over, on any thread; must not block.
    public var onRecord: (@Sendable (DoorRecord) -> Void)?

    /// - Parameter places: by default, a free port of 127.0.0.1.
    public init(listeningOn places: [DoorPlace] = [.loopback()]) { self.places = places }

    /// A place whose connections all lead to one server, like `ssh -L`.
    public struct Forward: Sendable, Hashable {
        /// Where programs connect.
        public var place: DoorPlace
        /// The server, which the policy must allow like any other.
        public var target: Endpoint

        public init(from place: DoorPlace, to target: Endpoint) {
            self.place = place
            self.target = target
        }
    }
}

/// The limits of a door.
public struct DoorLimits: Sendable, Hashable {
    /// The number of connections in all; further ones are closed when they are accepted.
    public var connections = 16_384
    /// The number of connections of one user; all programs whose user is unknown count as one user. Half of all by
    /// default, so that no user takes the places of the others.
    public var connectionsPerUser = 8192
    /// The number of connections of one user whose request has not been read yet, or was refused and whose program has
    /// not left yet; a further one ends the oldest of that user. Users that have to show the credential have so
    /// many together: a further one ends the oldest of that user who has most.
    public var greetings = 1024
    /// The longest time until a program's request has been read.
    public var greetingTimeout = Duration.seconds(10)
    /// How long a connection whose program may not come in is held, for the program to be told in its own protocol.
    var dismissalTime = Duration.seconds(1)
    /// The longest time until the connection to the server is open.
    public var connectTimeout = Duration.seconds(10)
    /// The number of connections to servers that are opened at the same time; further ones wait. A relay resets the oldest
    /// connections of an address that has too many unauthenticated ones.
    public var openings = 48
    /// The longest time that a connection to a server waits until it may be opened. Long enough for two others, each of
    /// which takes all of ``connectTimeout``, to be opened before it.
    public var queueTimeout = Duration.seconds(30)
    /// The longest time without a byte in either direction; no limit if nil.
    public var idleTimeout: Duration?

    /// The default limits, as each property states them.
    public init() {}
}
