public import Configuration
public import SallyportConnecting
public import SallyportCore

extension ControlTLSVersions {
    /// Reads the setting: a string of items separated by commas, or an array of strings.
    ///
    /// - Throws: as `init(_:)` does.
    public init(reading reader: ConfigReader) throws(LoadError) {
        for name in Self.names {
            let key = ConfigKey([name])
            guard let items = reader.stringArray(forKey: key) ?? reader.string(forKey: key).map({ [$0] }) else {
                continue
            }
            try self.init(items.flatMap { $0.split(separator: ",").map(String.init) })
            return
        }
        self.init()
    }
}
