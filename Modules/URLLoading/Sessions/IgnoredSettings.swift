package import Configuration
package import Logging

/// Settings of Dynamics that have no effect here, and that report so in the log.
package enum IgnoredSettings {
    /// Which schemes are answered is said by the delegate, which rejects a protection space.
    static let names = ["GDRejectAuthSupport"]

    static func present(in reader: ConfigReader) -> [String] {
        names.filter { name in
            let key = ConfigKey([name])
            return reader.string(forKey: key) != nil || reader.stringArray(forKey: key) != nil
        }
    }

    /// Once for each instance that is opened.
    package static func tell(_ reader: ConfigReader, _ logger: Logger) {
        for name in present(in: reader) {
            logger.notice("A setting has no effect.", metadata: ["setting": "\(name)"])
        }
    }
}
