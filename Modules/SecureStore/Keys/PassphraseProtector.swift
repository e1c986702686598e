internal import CSecureStore
public import Crypto
internal import CryptoExtras
internal import SallyportBase

/// Protects a store by a passphrase that people choose, stretched by scrypt (RFC 7914).
///
/// The passphrase stays in memory, unlocked, for as long as the protector lives: a `String` cannot be cleared.
public struct PassphraseProtector: KeyProtector {
    private let passphrase: Redacted<String>
    private let cost: Cost

    /// scrypt's parameters; kept with the store, so that a later version can raise them for new ones.
    package struct Cost: Sendable, Hashable {
        /// The exponent of N, 10 to 20. Memory is 128 × r × N bytes.
        package var exponent: UInt8
        /// r, 1 to 32.
        package var blockSize: UInt8
        /// p, 1 to 16.
        package var parallelism: UInt8

        /// N = 2^17, r = 8, p = 1: the minimum that OWASP's Password Storage Cheat Sheet recommends.
        package static let standard = Cost(exponent: 17)

        package init(exponent: UInt8, blockSize: UInt8 = 8, parallelism: UInt8 = 1) {
            self.exponent = exponent
            self.blockSize = blockSize
            self.parallelism = parallelism
        }

        /// A process that can write the file `keys` must not be able to make opening the store take all memory or
        /// compute for minutes. The limits are 1 GiB and 16 times the work of ``standard``.
        var isAllowed: Bool {
            guard (10...20).contains(exponent), (1...32).contains(blockSize), (1...16).contains(parallelism) else {
                return false
            }
            return memory <= 1 << 30 && memory * Int(parallelism) <= 16 * Self.standard.memory
        }

        var memory: Int { (128 * Int(blockSize)) << Int(exponent) }
    }

    /// `passphrase`.
    public var kind: String { "passphrase" }

    /// Opening the store with this protector takes 128 MiB and some 300 ms each time.
    public init(passphrase: String) { self.init(passphrase: passphrase, cost: .standard) }

    /// - Parameter cost: lower than the standard only in tests.
    package init(passphrase: String, cost: Cost) {
        self.passphrase = Redacted(passphrase)
        self.cost = cost
    }

    /// Stretches the passphrase with a new salt of 32 random bytes, and scrypt's N = 2^17, r = 8 and p = 1.
    ///
    /// - Throws: ``StoreError/Code/keyUnavailable`` if the passphrase is empty, or memory is short.
    public func makeWrappingKey() throws(StoreError) -> (key: SymmetricKey, parameters: [UInt8]) {
        let parameters = [1, cost.exponent, cost.blockSize, cost.parallelism] + SystemRandom.bytes(32)
        return (try wrappingKey(parameters: parameters), parameters)
    }

    /// Stretches the passphrase with the store's salt and cost. Parameters that would take more than 1 GiB, or 16 times
    /// the standard work, are refused.
    ///
    /// - Throws: ``StoreError/Code/unsupportedFormat`` for such parameters and those of another version;
    ///   ``StoreError/Code/keyUnavailable`` if the passphrase is empty, or memory is short. Whether it is the right one
    ///   shows only when the store's keys are opened.
    public func wrappingKey(parameters: [UInt8]) throws(StoreError) -> SymmetricKey {
        guard parameters.count == 36, parameters[0] == 1 else {
            throw StoreError(.unsupportedFormat, "The passphrase parameters are of another version.")
        }
        let cost = Cost(exponent: parameters[1], blockSize: parameters[2], parallelism: parameters[3])
        guard cost.isAllowed else {
            throw StoreError(.unsupportedFormat, "The scrypt parameters are outside the allowed range.")
        }
        var secret = Array(passphrase.reveal().utf8)
        defer { unsafe secret.withUnsafeMutableBytes { unsafe sp_clear($0.baseAddress, $0.count) } }
        guard !secret.isEmpty else { throw StoreError(.keyUnavailable, "The passphrase is empty.") }
        do {
            return try KDF.Scrypt.deriveKey(
                from: secret, salt: Array(parameters[4...]), outputByteCount: 32, rounds: 1 << Int(cost.exponent),
                blockSize: Int(cost.blockSize), parallelism: Int(cost.parallelism),
                maxMemory: 2 * cost.memory)
        } catch {
            throw StoreError(.keyUnavailable, "scrypt failed.", underlying: error)
        }
    }
}
