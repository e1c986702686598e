public import Configuration
public import SallyportConnecting
public import SallyportCore

extension ControlTLSVersions {
    /// Reads the setting: a string of items separated by commas, or an array of strings.
    ///
    /// - Throws: as `init(_:)` does, and `invalidConfiguration` for a value of another kind.
    public init(reading reader: ConfigReader) throws(LoadError) {
        for name in Self.names {
            let key = ConfigKey([name])
            guard let items = reader.stringArray(forKey: key) ?? reader.string(forKey: key).map({ [$0] }) else {
                guard !Self.isOther(key, in: reader) else {
                    throw LoadError(
                        .invalidConfiguration, "\(name) is a text or an array of texts, such as \"a.example=TLS1.1\".")
                }
                continue
            }
            try self.init(items.flatMap { $0.split(separator: ",").map(String.init) })
            return
        }
        self.init()
    }

    /// Whether the key has a value of another kind than text, which must not count as none.
    private static func isOther(_ key: ConfigKey, in reader: ConfigReader) -> Bool {
        reader.int(forKey: key) != nil || reader.double(forKey: key) != nil || reader.bool(forKey: key) != nil
            || reader.intArray(forKey: key) != nil || reader.doubleArray(forKey: key) != nil
            || reader.boolArray(forKey: key) != nil
    }
}
