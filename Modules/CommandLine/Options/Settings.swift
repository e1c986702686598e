import Configuration
import Foundation

/// The program's settings: the environment, then a JSON file.
enum Settings {
    /// The longest file, in bytes.
    static let limit = 1 << 20

    /// - Parameter file: one JSON object, whose values are strings, numbers, booleans, arrays of strings, or objects of
    ///   such.
    static func reader(file: String?) throws -> ConfigReader {
        let environment = EnvironmentVariablesProvider()
        guard let file else { return ConfigReader(provider: environment) }
        let values = try values(of: InputFile.text(file, limit: limit), in: file)
        return ConfigReader(providers: [environment, InMemoryProvider(name: file, values: values)])
    }

    private static func values(of text: String, in file: String) throws -> [AbsoluteConfigKey: ConfigValue] {
        guard let object = try? JSONDecoder().decode([String: Setting].self, from: Data(text.utf8)) else {
            throw CommandFailure(.usage, name: "invalid", "\(file) is not one JSON object of settings.")
        }
        var values: [AbsoluteConfigKey: ConfigValue] = [:]
        for (name, setting) in object { setting.add(to: &values, as: [name]) }
        return values
    }
}

private enum Setting: Decodable {
    case content(ConfigContent)
    case object([String: Setting])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let value = try? container.decode(Bool.self) {
            self = .content(.bool(value))
        } else if let value = try? container.decode(Int.self) {
            self = .content(.int(value))
        } else if let value = try? container.decode(Double.self) {
            self = .content(.double(value))
        } else if let value = try? container.decode(String.self) {
            self = .content(.string(value))
        } else if let value = try? container.decode([String].self) {
            self = .content(.stringArray(value))
        } else {
            self = .object(try container.decode([String: Setting].self))
        }
    }

    func add(to values: inout [AbsoluteConfigKey: ConfigValue], as path: [String]) {
        switch self {
        case .content(let content): values[AbsoluteConfigKey(path)] = ConfigValue(content, isSecret: false)
        case .object(let members):
            for (name, member) in members { member.add(to: &values, as: path + [name]) }
        }
    }
}
