public import Configuration
public import Logging

/// Settings that other platforms have and that have no effect here.
///
/// An app that brings its settings from there learns by the log that one does nothing. `Sallyport.open` reports them;
/// an app that composes its sessions by hand calls ``report(_:to:)`` once for each instance.
public enum IgnoredSettings {
    /// The names of all of them.
    ///
    /// `GDRejectAuthSupport` says there which schemes of authentication are not answered; here a session's delegate
    /// rejects a protection space.
    public static let names = ["GDRejectAuthSupport"]

    /// Logs each of them that is set, at `notice`, with its name as the metadata `setting`, and without its value.
    ///
    /// Throws nothing, whatever the value: only a text or an array of texts counts as set.
    ///
    /// - Parameters:
    ///   - reader: the app's settings, which are only read.
    ///   - logger: for the messages, one for each setting; nothing is logged if none is set.
    public static func report(_ reader: ConfigReader, to logger: Logger = Logger(label: "sallyport")) {
        for name in present(in: reader) {
            logger.notice("A setting has no effect.", metadata: ["setting": "\(name)"])
        }
    }

    private static func present(in reader: ConfigReader) -> [String] {
        names.filter { name in
            let key = ConfigKey([name])
            return reader.string(forKey: key) != nil || reader.stringArray(forKey: key) != nil
        }
    }
}
