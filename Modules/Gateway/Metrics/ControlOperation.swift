internal import SallyportWire

/// What a request to the control port asks for, as metrics name it.
enum ControlOperation: String, Sendable, Hashable, CaseIterable {
    case activation, renewal, authorities, configuration
    case storedConfiguration = "stored-configuration"
    case events, name, token, verification, keys, feed, health, other

    init(path: String) {
        self =
            switch path {
            case ControlAPI.Path.enroll: .activation
            case ControlAPI.Path.reenroll: .renewal
            case ControlAPI.Path.authorities: .authorities
            case ControlAPI.Path.configuration: .configuration
            case ControlAPI.Path.storedConfiguration: .storedConfiguration
            case ControlAPI.Path.events: .events
            case ControlAPI.Path.names: .name
            case ControlAPI.Path.health: .health
            case FeedAPI.feed, FeedAPI.applied, FeedAPI.audit, FeedAPI.certificates: .feed
            case AuthTokenAPI.Path.issue: .token
            case AuthTokenAPI.Path.verify: .verification
            case AuthTokenAPI.Path.keys: .keys
            default: .other
            }
    }
}
