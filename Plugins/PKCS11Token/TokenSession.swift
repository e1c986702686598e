package import CPKCS11
package import Crypto
internal import Glibc

/// A session with a token.
@safe
package struct TokenSession {
    private static let secretLength = 32

    private let functions: UnsafePointer<ck_function_list>
    private let handle: ck_session_handle_t

    init(functions: UnsafePointer<ck_function_list>, handle: ck_session_handle_t) {
        unsafe self.functions = functions
        self.handle = handle
    }

    package func close() { _ = unsafe functions.pointee.C_CloseSession?(handle) }

    func logIn(_ pin: String) throws(TokenError) {
        var bytes = Array(pin.utf8)
        defer {
            unsafe bytes.withUnsafeMutableBytes { unsafe explicit_bzero($0.baseAddress.unsafelyUnwrapped, $0.count) }
        }
        let result = unsafe bytes.withUnsafeMutableBufferPointer {
            unsafe functions.pointee.C_Login?(handle, ck_user_type_t(CKU_USER), $0.baseAddress, UInt($0.count))
        }
        if result == CKR_USER_ALREADY_LOGGED_IN { return }
        guard result != CKR_PIN_INCORRECT, result != CKR_PIN_LEN_RANGE, result != CKR_PIN_INVALID else {
            throw TokenError(.wrongPIN, "The token refuses the PIN.")
        }
        try Self.check("log in", result)
    }

    /// The secret of this label, or nil.
    package func secret(labelled label: String) throws(TokenError) -> ck_object_handle_t? {
        try object(of: CKO_SECRET_KEY, labelled: label)
    }

    /// The first object of a class and a label, or nil.
    package func object(of kind: UInt, labelled label: String) throws(TokenError) -> ck_object_handle_t? {
        var (found, count): (ck_object_handle_t, UInt) = (0, 0)
        try unsafe withTemplate([(CKA_CLASS, bytes(kind)), (CKA_LABEL, Array(label.utf8))]) {
            unsafe functions.pointee.C_FindObjectsInit?(handle, $0, $1)
        }
        defer { _ = unsafe functions.pointee.C_FindObjectsFinal?(handle) }
        try Self.check("look for an object", unsafe functions.pointee.C_FindObjects?(handle, &found, 1, &count))
        return count == 1 ? found : nil
    }

    /// An attribute of at most 16 KiB.
    package func value(_ type: UInt, of object: ck_object_handle_t) throws(TokenError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 16 << 10)
        var count = 0
        let result = unsafe bytes.withUnsafeMutableBytes { buffer in
            var attribute = unsafe ck_attribute(
                type: type, value: buffer.baseAddress, value_len: UInt(buffer.count))
            let result = unsafe functions.pointee.C_GetAttributeValue?(handle, object, &attribute, 1)
            count = unsafe Int(clamping: attribute.value_len)
            return result
        }
        try Self.check("read an object", result)
        return Array(bytes.prefix(count))
    }

    /// A signature of at most 1 KiB, made by the token.
    package func signature(
        of input: [UInt8], with key: ck_object_handle_t, by mechanism: UInt
    ) throws(TokenError) -> [UInt8] {
        var mechanism = unsafe ck_mechanism(mechanism: mechanism, parameter: nil, parameter_len: 0)
        try Self.check("use the key", unsafe functions.pointee.C_SignInit?(handle, &mechanism, key))
        var (input, signature, count) = (input, [UInt8](repeating: 0, count: 1 << 10), UInt(1 << 10))
        let result = unsafe functions.pointee.C_Sign?(handle, &input, UInt(input.count), &signature, &count)
        try Self.check("use the key", result)
        return Array(signature.prefix(Int(count)))
    }

    /// Creates a secret that stays in the token.
    package func makeSecret(labelled label: String) throws(TokenError) -> ck_object_handle_t {
        var made: ck_object_handle_t = 0
        var mechanism = unsafe ck_mechanism(mechanism: CKM_GENERIC_SECRET_KEY_GEN, parameter: nil, parameter_len: 0)
        try unsafe withTemplate([
            (CKA_CLASS, bytes(CKO_SECRET_KEY)), (CKA_KEY_TYPE, bytes(CKK_GENERIC_SECRET)),
            (CKA_VALUE_LEN, bytes(UInt(Self.secretLength))), (CKA_LABEL, Array(label.utf8)), (CKA_TOKEN, [1]),
            (CKA_PRIVATE, [1]), (CKA_SENSITIVE, [1]), (CKA_EXTRACTABLE, [0]), (CKA_SIGN, [1]),
        ]) {
            unsafe functions.pointee.C_GenerateKey?(handle, &mechanism, $0, $1, &made)
        }
        return made
    }

    /// HMAC-SHA-256, computed by the token.
    package func authenticationCode(of bytes: [UInt8], with secret: ck_object_handle_t) throws(TokenError)
        -> SymmetricKey
    {
        var mechanism = unsafe ck_mechanism(mechanism: CKM_SHA256_HMAC, parameter: nil, parameter_len: 0)
        try Self.check("use the secret", unsafe functions.pointee.C_SignInit?(handle, &mechanism, secret))
        var (bytes, code, count) = (bytes, [UInt8](repeating: 0, count: 32), UInt(32))
        defer {
            unsafe code.withUnsafeMutableBytes { unsafe explicit_bzero($0.baseAddress.unsafelyUnwrapped, $0.count) }
        }
        let result = unsafe functions.pointee.C_Sign?(handle, &bytes, UInt(bytes.count), &code, &count)
        try Self.check("use the secret", result)
        guard count == 32 else { throw TokenError(.unavailable, "The token gives a code of \(count) bytes.") }
        return SymmetricKey(data: code)
    }

    // MARK: Calls

    private func bytes(_ value: UInt) -> [UInt8] {
        var value = value
        return unsafe withUnsafeBytes(of: &value) { unsafe Array($0) }
    }

    /// Calls `body` with attributes whose values stay in place during the call.
    private func withTemplate(
        _ attributes: [(type: UInt, value: [UInt8])], _ body: (UnsafeMutablePointer<ck_attribute>?, UInt) -> ck_rv_t?
    ) throws(TokenError) {
        var values = attributes.flatMap(\.value)
        let result = unsafe values.withUnsafeMutableBytes { values in
            var offset = 0
            var template = unsafe attributes.map { attribute in
                defer { offset += attribute.value.count }
                return unsafe ck_attribute(
                    type: attribute.type, value: values.baseAddress.map { unsafe $0 + offset },
                    value_len: UInt(attribute.value.count))
            }
            return unsafe template.withUnsafeMutableBufferPointer { unsafe body($0.baseAddress, UInt($0.count)) }
        }
        try Self.check("ask the token", result)
    }

    static func check(
        _ verb: String, _ result: ck_rv_t?, fileID: StaticString = #fileID, line: UInt = #line
    ) throws(TokenError) {
        guard result != CKR_OK else { return }
        throw failure(verb, result ?? CKR_FUNCTION_NOT_SUPPORTED, fileID: fileID, line: line)
    }

    static func failure(
        _ verb: String, _ result: ck_rv_t, fileID: StaticString = #fileID, line: UInt = #line
    ) -> TokenError {
        TokenError(
            .unavailable, "Cannot \(verb): the PKCS#11 module answers 0x\(String(result, radix: 16)).",
            fileID: fileID, line: line)
    }
}

// SAFETY: a handle and a table of functions that never change; every caller holds ``TokenTurn``.
extension TokenSession: @unchecked Sendable {}
