import Foundation
import TestSupport

/// The files of the stage.
enum MessageFiles {
    private static let planted = MessageStage.planted

    /// The content and the mode of each.
    private static let contents: [String: (text: String, mode: mode_t)] = [
        "text": ("no settings\n", 0o644),
        "long": (String(repeating: "a", count: 1 << 20 + 1), 0o644),
        "key": ("\(planted)-KEY-of-another-store-0123456789", 0o600),
        "short-key": ("\(planted)-KEY", 0o600),
        "exposed-key": ("\(planted)-KEY-of-another-store-0123456789", 0o644),
        "passphrase": ("\(planted)-PASSPHRASE\n", 0o600),
        "blank-passphrase": ("\n\(planted)-PASSPHRASE\n", 0o600),
        "exposed-passphrase": ("\(planted)-PASSPHRASE\n", 0o644),
        "long-passphrase": (String(repeating: "\(planted) ", count: 600), 0o600),
        "password": ("\(planted)-PASSWORD\n", 0o600),
        "credential": ("\(planted)-CREDENTIAL\n", 0o600),
        "exposed-credential": ("\(planted)-CREDENTIAL\n", 0o644),
        "fields": ("X-Plain: a\n\(planted) TOKEN\n", 0o600),
        "certificate": ("-----BEGIN CERTIFICATE-----\n\(planted)!\n-----END CERTIFICATE-----\n", 0o600),
        "settings": ("{\"ControlTLSVersions\": [\"\(planted)\"]}", 0o600),
    ]

    /// The path of the file or folder of this name; nil for another name.
    static func make(_ name: String, in folder: TemporaryDirectory) throws -> String? {
        let path = folder.file(name)
        switch name {
        case "none": return path
        case "nowhere": return "\(path)/file"
        case "directory":
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            chmod(path, 0o755)
        case "binary":
            try Data([0xff, 0xfe]).write(to: URL(filePath: path))
            chmod(path, 0o600)
        default:
            guard let content = contents[name] else { return nil }
            try content.text.write(toFile: path, atomically: false, encoding: .utf8)
            chmod(path, content.mode)
        }
        return path
    }
}
