internal import SallyportLoading
internal import SallyportWire

// What apps are only told, and act on by themselves: who the user is elsewhere, how much to log, and further settings.
extension Directory.Application {
    /// How much an application logs. It decides by itself what that means.
    struct Logging: Sendable, Hashable, Codable {
        var isDetailed = false
        /// Whether users may not switch detailed logs on.
        var isKeptFromUsers = false

        /// The form in lists of changes.
        var line: String { "detailed logs \(isDetailed ? "on" : "off")\(isKeptFromUsers ? ", not by users" : "")" }
    }
}

extension Directory {
    /// - Parameter principalName: `user@realm`; nil if the user has none any more.
    mutating func setPrincipalName(_ principalName: String?, of user: String) throws(GatewayError) {
        guard users[user] != nil else { throw unknown(user: user) }
        if let principalName, !ConfigurationDocument.User.isPrincipalName(principalName) {
            throw GatewayError(
                .invalid, "A user principal name is USER@REALM: at most 1024 bytes, no space, no control character.")
        }
        users[user]?.principalName = principalName
    }

    /// What is nil stays as it is.
    mutating func setLogging(
        of entitlement: String, isDetailed: Bool?, isKeptFromUsers: Bool?
    ) throws(GatewayError) {
        guard let application = applications[entitlement] else { throw unknown(application: entitlement) }
        var logging = application.logging ?? Application.Logging()
        logging.isDetailed = isDetailed ?? logging.isDetailed
        logging.isKeptFromUsers = isKeptFromUsers ?? logging.isKeptFromUsers
        applications[entitlement]?.logging = logging == Application.Logging() ? nil : logging
    }

    /// - Parameter json: a JSON object as text; an empty one, or an empty text, ends what was set.
    mutating func setExtraInfo(_ json: String, of entitlement: String) throws(GatewayError) {
        guard applications[entitlement] != nil else { throw unknown(application: entitlement) }
        let object = json.isEmpty ? [:] : ConfigurationDocument.Application.extraInfo(json)
        guard let object else {
            throw GatewayError(
                .invalid, "Extra information is a JSON object of at most \(ConfigurationDocument.Limits.text) bytes.")
        }
        applications[entitlement]?.extraInfo = object.isEmpty ? nil : json
    }
}

extension ConfigurationDocument.Application {
    /// What the administrator says to one application.
    init(_ application: Directory.Application?) {
        self.init(
            config: application?.configuration ?? "", detailedLogsOn: application?.logging?.isDetailed ?? false,
            preventUserDetailedLogs: application?.logging?.isKeptFromUsers ?? false,
            extraInfo: application?.extraInfo)
    }
}
