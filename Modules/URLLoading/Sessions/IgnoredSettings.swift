package import Configuration
package import Logging

/// Settings that other platforms have and that have no effect here; the log says so.
package enum IgnoredSettings {
    /// The delegate decides which schemes are answered: it rejects a protection space.
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
