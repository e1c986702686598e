internal import CPKCS11
internal import Crypto
internal import Glibc
internal import SallyportSecureStore

/// A session with a token.
@safe
struct TokenSession {
    private static let secretLength = 32

    private let functions: UnsafePointer<ck_function_list>
    private let handle: ck_session_handle_t

    init(functions: UnsafePointer<ck_function_list>, handle: ck_session_handle_t) {
        unsafe self.functions = functions
        self.handle = handle
    }

    func close() { _ = unsafe functions.pointee.C_CloseSession?(handle) }

    func logIn(_ pin: String) throws(StoreError) {
        var octets = Array(pin.utf8)
        defer {
            unsafe octets.withUnsafeMutableBytes { unsafe explicit_bzero($0.baseAddress.unsafelyUnwrapped, $0.count) }
        }
        let result = unsafe octets.withUnsafeMutableBufferPointer {
            unsafe functions.pointee.C_Login?(handle, ck_user_type_t(CKU_USER), $0.baseAddress, UInt($0.count))
        }
        if result == CKR_USER_ALREADY_LOGGED_IN { return }
        guard result != CKR_PIN_INCORRECT, result != CKR_PIN_LEN_RANGE, result != CKR_PIN_INVALID else {
            throw StoreError(.wrongKey, "The token refuses the PIN.")
        }
        try Self.check("log in", result)
    }

    /// The secret of this label, or nil.
    func secret(labelled label: String) throws(StoreError) -> ck_object_handle_t? {
        var (found, count): (ck_object_handle_t, UInt) = (0, 0)
        try unsafe withTemplate([(CKA_CLASS, octets(CKO_SECRET_KEY)), (CKA_LABEL, Array(label.utf8))]) {
            unsafe functions.pointee.C_FindObjectsInit?(handle, $0, $1)
        }
        defer { _ = unsafe functions.pointee.C_FindObjectsFinal?(handle) }
        try Self.check("look for the secret", unsafe functions.pointee.C_FindObjects?(handle, &found, 1, &count))
        return count == 1 ? found : nil
    }

    /// Makes a secret that stays in the token.
    func makeSecret(labelled label: String) throws(StoreError) -> ck_object_handle_t {
        var made: ck_object_handle_t = 0
        var mechanism = unsafe ck_mechanism(mechanism: CKM_GENERIC_SECRET_KEY_GEN, parameter: nil, parameter_len: 0)
        try unsafe withTemplate([
            (CKA_CLASS, octets(CKO_SECRET_KEY)), (CKA_KEY_TYPE, octets(CKK_GENERIC_SECRET)),
            (CKA_VALUE_LEN, octets(UInt(Self.secretLength))), (CKA_LABEL, Array(label.utf8)), (CKA_TOKEN, [1]),
            (CKA_PRIVATE, [1]), (CKA_SENSITIVE, [1]), (CKA_EXTRACTABLE, [0]), (CKA_SIGN, [1]),
        ]) {
            unsafe functions.pointee.C_GenerateKey?(handle, &mechanism, $0, $1, &made)
        }
        return made
    }

    /// HMAC-SHA-256, made by the token.
    func authenticationCode(of octets: [UInt8], with secret: ck_object_handle_t) throws(StoreError) -> SymmetricKey {
        var mechanism = unsafe ck_mechanism(mechanism: CKM_SHA256_HMAC, parameter: nil, parameter_len: 0)
        try Self.check("use the secret", unsafe functions.pointee.C_SignInit?(handle, &mechanism, secret))
        var (octets, code, count) = (octets, [UInt8](repeating: 0, count: 32), UInt(32))
        defer {
            unsafe code.withUnsafeMutableBytes { unsafe explicit_bzero($0.baseAddress.unsafelyUnwrapped, $0.count) }
        }
        let result = unsafe functions.pointee.C_Sign?(handle, &octets, UInt(octets.count), &code, &count)
        try Self.check("use the secret", result)
        guard count == 32 else { throw StoreError(.keyUnavailable, "The token gives a code of \(count) octets.") }
        return SymmetricKey(data: code)
    }

    // MARK: Calls

    private func octets(_ value: UInt) -> [UInt8] {
        var value = value
        return unsafe withUnsafeBytes(of: &value) { unsafe Array($0) }
    }

    /// Calls with attributes whose values stay where they are for as long.
    private func withTemplate(
        _ attributes: [(type: UInt, value: [UInt8])], _ body: (UnsafeMutablePointer<ck_attribute>?, UInt) -> ck_rv_t?
    ) throws(StoreError) {
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
    ) throws(StoreError) {
        guard result != CKR_OK else { return }
        throw failure(verb, result ?? CKR_FUNCTION_NOT_SUPPORTED, fileID: fileID, line: line)
    }

    static func failure(
        _ verb: String, _ result: ck_rv_t, fileID: StaticString = #fileID, line: UInt = #line
    ) -> StoreError {
        StoreError(
            .keyUnavailable, "Cannot \(verb): the PKCS#11 module answers 0x\(String(result, radix: 16)).",
            fileID: fileID, line: line)
    }
}
