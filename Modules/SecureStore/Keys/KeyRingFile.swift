internal import Crypto
internal import SallyportCore

/// The file `keys`: the key ring, wrapped by the protector's key.
///
/// `SPKEYS` 0x00 version(1) | kind length(1) kind | parameters length(2) parameters | nonce(12) ciphertext tag(16);
/// everything before the nonce is authenticated.
enum KeyRingFile {
    static let name = "keys"
    private static let magic = Array("SPKEYS".utf8) + [0, 1]
    private static let maximumLength = 64 << 10

    static func create(in directory: String, protectedBy protector: any KeyProtector) throws(StoreError) -> KeyRing {
        let ring = KeyRing.generate()
        let (key, parameters) = try protector.makeWrappingKey()
        try write(ring, in: directory, kind: protector.kind, key: key, parameters: parameters)
        return ring
    }

    static func write(
        _ ring: KeyRing, in directory: String, kind: String, key: SymmetricKey, parameters: [UInt8]
    ) throws(StoreError) {
        guard (1...64).contains(kind.utf8.count), parameters.count <= 4096 else {
            throw StoreError(.tooLarge, "A protector's kind has 1 to 64 octets, its parameters at most 4096.")
        }
        let head =
            magic + [UInt8(kind.utf8.count)] + Array(kind.utf8) + UInt16(parameters.count).bigEndianOctets + parameters
        do {
            let sealed = try AES.GCM.seal(ring.octets, using: key, authenticating: head)
            let box = Array(sealed.nonce) + Array(sealed.ciphertext) + Array(sealed.tag)
            try Files.replace("\(directory)/\(name)", with: head + box, mode: 0o600)
        } catch let error as StoreError {
            throw error
        } catch {
            throw StoreError(.internalFailure, "The keys could not be wrapped.", underlying: error)
        }
    }

    static func open(in directory: String, protectedBy protector: any KeyProtector) throws(StoreError) -> KeyRing {
        let file = try parse(Files.read("\(directory)/\(name)", upTo: maximumLength))
        guard file.kind == protector.kind else {
            throw StoreError(.wrongKey, "The store is protected by a \(file.kind), not by a \(protector.kind).")
        }
        let key = try protector.wrappingKey(parameters: file.parameters)
        guard let box = try? AES.GCM.SealedBox(combined: file.box),
            let octets = try? AES.GCM.open(box, using: key, authenticating: file.head)
        else { throw StoreError(.wrongKey, "The \(protector.kind) does not open this store.") }
        guard let ring = KeyRing(octets: Array(octets)) else {
            throw StoreError(.damaged, "The key ring has the wrong length.")
        }
        return ring
    }

    private struct Parsed {
        var head: [UInt8]
        var kind: String
        var parameters: [UInt8]
        var box: [UInt8]
    }

    private static func parse(_ octets: [UInt8]) throws(StoreError) -> Parsed {
        var rest = octets[...]
        func take(_ count: Int) throws(StoreError) -> ArraySlice<UInt8> {
            guard rest.count >= count else { throw StoreError(.damaged, "The file \(name) is cut short.") }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count)
        }
        guard try take(6) == magic[0..<6] else { throw StoreError(.damaged, "The file \(name) is of another kind.") }
        guard try take(2) == magic[6...] else {
            throw StoreError(.unsupportedFormat, "The store was written by another version.")
        }
        let kindLength = Int(try take(1).first ?? 0)
        let kind = String(decoding: try take(kindLength), as: UTF8.self)
        let parametersLength = Int(UInt16(bigEndianOctets: try take(2)))
        let parameters = Array(try take(parametersLength))
        let head = Array(octets[..<rest.startIndex])
        guard rest.count >= 28 else { throw StoreError(.damaged, "The file \(name) is cut short.") }
        return Parsed(head: head, kind: kind, parameters: parameters, box: Array(rest))
    }
}
