internal import Foundation
internal import SallyportBase
internal import SallyportCore

/// A line of Squid's protocol for external ACL helpers: `%>a %>p %>la %>lp %DST %PORT %"USER_CERT` after the number of
/// a channel.
///
/// Squid percent-encodes the first fields, and writes the certificate (PEM, with spaces in it) with a backslash before
/// `n`, `r`, `t`, a quotation mark and a backslash. A hyphen follows for the ACL's own words, of which there are none.
package enum ACLQuery: Sendable, Hashable {
    case question(GuardQuestion, channel: UInt64)
    /// What Squid asked cannot be judged, and is answered so.
    case mistake(String, channel: UInt64)
    /// There is no channel to answer on.
    case unreadable

    /// The longest line, in bytes, without its end.
    package static let maximumLine = 16 << 10

    /// Reads a line, without its end.
    package init(line: [UInt8]) {
        let parts = line.split(separator: UInt8(ascii: " "), maxSplits: 7, omittingEmptySubsequences: false)
        guard let first = parts.first, let channel = Self.channel(first) else {
            self = .unreadable
            return
        }
        do throws(GuardMistake) {
            guard line.count <= Self.maximumLine else { throw GuardMistake("The line is longer than 16384 bytes.") }
            guard parts.count == 8 else { throw GuardMistake("external_acl_type has another format than is expected.") }
            self = .question(try Self.question(parts), channel: channel)
        } catch {
            self = .mistake(error.message, channel: channel)
        }
    }

    private static func channel(_ text: ArraySlice<UInt8>) -> UInt64? {
        guard (1...19).contains(text.count), text.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else {
            return nil
        }
        return UInt64(String(decoding: text, as: UTF8.self))
    }

    private static func question(_ parts: [ArraySlice<UInt8>]) throws(GuardMistake) -> GuardQuestion {
        var fields: [String] = []
        for part in parts[1..<7] {
            guard part.allSatisfy({ (0x21...0x7e).contains($0) }),
                let bytes = PercentCoding.decoded(String(decoding: part, as: UTF8.self)),
                let text = String(validating: bytes, as: UTF8.self)
            else { throw GuardMistake("A field is not percent-encoded text.") }
            fields.append(text)
        }
        let addresses = try GuardQuestion.Addresses(fields)
        return GuardQuestion(
            ends: addresses.ends, target: addresses.target, certificate: try certificate(parts[7]))
    }

    /// The certificate's DER.
    private static func certificate(_ quoted: ArraySlice<UInt8>) throws(GuardMistake) -> [UInt8] {
        var quoted = quoted
        if quoted.ends(with: Array(" -".utf8)) { quoted = quoted.dropLast(2) }
        guard !quoted.elementsEqual("-".utf8) else {
            throw GuardMistake("The client showed no certificate: https_port needs clientca=.")
        }
        guard let text = unquoted(quoted) else { throw GuardMistake("USER_CERT needs the quote modifier.") }
        let (head, foot) = ("-----BEGIN CERTIFICATE-----\n", "-----END CERTIFICATE-----")
        let trimmed = text.trimmingCharacters(in: .newlines)
        guard trimmed.hasPrefix(head), trimmed.hasSuffix(foot), trimmed.utf8.count >= head.utf8.count + foot.utf8.count,
            let der = Data(
                base64Encoded: trimmed.dropFirst(head.count).dropLast(foot.count).split(separator: "\n").joined()),
            !der.isEmpty, der.count <= GuardQuestion.maximumCertificate
        else { throw GuardMistake("USER_CERT is not one certificate of at most 8192 bytes.") }
        return Array(der)
    }

    /// Nil for a backslash before another character, and for what Squid never leaves as it is.
    private static func unquoted(_ quoted: ArraySlice<UInt8>) -> String? {
        var bytes: [UInt8] = []
        var rest = quoted.makeIterator()
        while let byte = rest.next() {
            guard (0x20...0x7e).contains(byte) else { return nil }
            guard byte == UInt8(ascii: "\\") else {
                bytes.append(byte)
                continue
            }
            switch rest.next() {
            case UInt8(ascii: "n"): bytes.append(UInt8(ascii: "\n"))
            case UInt8(ascii: "r"): bytes.append(UInt8(ascii: "\r"))
            case UInt8(ascii: "t"): bytes.append(UInt8(ascii: "\t"))
            case UInt8(ascii: "\\"): bytes.append(UInt8(ascii: "\\"))
            case UInt8(ascii: "\""): bytes.append(UInt8(ascii: "\""))
            default: return nil
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension ArraySlice<UInt8> {
    fileprivate func ends(with suffix: [UInt8]) -> Bool { self.suffix(suffix.count).elementsEqual(suffix) }
}

extension GuardAnswer {
    /// The line for Squid, without its end.
    package func squidLine(channel: UInt64) -> String {
        switch self {
        case .allowed(let instance): "\(channel) OK user=\(instance)"
        case .refused(let message): "\(channel) ERR message=\(Self.quoted(message))"
        // With `BH` Squid asks three times, and its rules do not see the note.
        case .unavailable(let message): "\(channel) ERR sallyport=unavailable message=\(Self.quoted(message))"
        case .failed(let message): "\(channel) BH message=\(Self.quoted(message))"
        }
    }

    private static func quoted(_ message: String) -> String {
        let text = message.unicodeScalars.prefix(512).map { scalar in
            switch scalar {
            case "\"", "\\": "\\\(scalar)"
            case " "..."~": "\(scalar)"
            default: "?"
            }
        }
        return "\"\(text.joined())\""
    }
}
