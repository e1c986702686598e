internal import Crypto
internal import CryptoExtras
internal import SallyportBase

/// The `algorithm` of Digest (RFC 7616 §3.3, §6.1): a hash function, and whether the key is made once per challenge.
package struct DigestAlgorithm: Sendable, Hashable, CustomStringConvertible {
    package enum Function: String, Sendable, Hashable, CaseIterable {
        case md5 = "MD5"
        case sha256 = "SHA-256"
        /// SHA-512/256 of FIPS 180-4, not a truncated SHA-512, which the RFC's own example uses by mistake (erratum
        /// 4897).
        case sha512t256 = "SHA-512-256"
    }

    package let function: Function
    package let isSession: Bool

    package init(_ function: Function, isSession: Bool = false) {
        self.function = function
        self.isSession = isSession
    }

    /// Nil for an unknown algorithm, whose challenge is skipped (§3.3). MD5 if the server names none.
    package init?(_ name: String?) {
        guard let name = name?.lowercased() else {
            self.init(.md5)
            return
        }
        let isSession = name.hasSuffix("-sess")
        let plain = isSession ? String(name.dropLast(5)) : name
        guard let function = Function.allCases.first(where: { $0.rawValue.lowercased() == plain }) else { return nil }
        self.init(function, isSession: isSession)
    }

    package var description: String { function.rawValue + (isSession ? "-sess" : "") }

    /// The preference among several: MD5 last. The other two are equally strong.
    var strength: Int { function == .md5 ? 0 : 1 }
}

extension DigestAlgorithm.Function {
    /// In lower-case hexadecimal digits.
    func hash(_ bytes: [UInt8]) -> [UInt8] {
        switch self {
        case .md5: Hexadecimal.digits(of: Array(Insecure.MD5.hash(data: bytes)))
        case .sha256: Hexadecimal.digits(of: Array(SHA256.hash(data: bytes)))
        case .sha512t256: Hexadecimal.digits(of: Array(SHA512256.hash(data: bytes)))
        }
    }

    /// The hash of the parts, separated by colons.
    func hash(_ parts: [UInt8]...) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(parts.reduce(parts.count) { $0 + $1.count })
        for (index, part) in parts.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ":")) }
            bytes.append(contentsOf: part)
        }
        return hash(bytes)
    }
}

/// The incremental hash of a body.
struct RunningDigest: Sendable {
    private enum State: Sendable {
        case md5(Insecure.MD5)
        case sha256(SHA256)
        case sha512t256(SHA512256)
    }

    private var state: State

    init(_ function: DigestAlgorithm.Function) {
        state =
            switch function {
            case .md5: .md5(Insecure.MD5())
            case .sha256: .sha256(SHA256())
            case .sha512t256: .sha512t256(SHA512256())
            }
    }

    mutating func update(_ bytes: [UInt8]) {
        switch state {
        case .md5(var hash):
            hash.update(data: bytes)
            state = .md5(hash)
        case .sha256(var hash):
            hash.update(data: bytes)
            state = .sha256(hash)
        case .sha512t256(var hash):
            hash.update(data: bytes)
            state = .sha512t256(hash)
        }
    }

    /// In lower-case hexadecimal digits.
    var digits: [UInt8] {
        switch state {
        case .md5(let hash): Hexadecimal.digits(of: Array(hash.finalize()))
        case .sha256(let hash): Hexadecimal.digits(of: Array(hash.finalize()))
        case .sha512t256(let hash): Hexadecimal.digits(of: Array(hash.finalize()))
        }
    }
}
