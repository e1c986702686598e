internal import CPKCS11
internal import Glibc

/// A loaded PKCS#11 module.
@safe
package struct TokenModule {
    private let functions: UnsafePointer<ck_function_list>

    /// Loads and initialises the module; a second call has no effect.
    package init(path: String) throws(TokenError) {
        guard let handle = unsafe dlopen(path, RTLD_NOW | RTLD_LOCAL) else {
            throw TokenError(.unavailable, "The PKCS#11 module \(path) cannot be loaded.")
        }
        typealias GetFunctionList = @convention(c) (UnsafeMutablePointer<UnsafePointer<ck_function_list>?>) -> ck_rv_t
        guard let symbol = unsafe dlsym(handle, "C_GetFunctionList") else {
            throw TokenError(.unavailable, "\(path) is no PKCS#11 module.")
        }
        var list: UnsafePointer<ck_function_list>?
        let result = unsafe unsafeBitCast(symbol, to: GetFunctionList.self)(&list)
        guard result == CKR_OK, let list = unsafe list else {
            throw TokenError(.unavailable, "The PKCS#11 module \(path) gives no functions (\(result)).")
        }
        unsafe functions = list
        var arguments = unsafe ck_c_initialize_args()
        unsafe arguments.flags = CKF_OS_LOCKING_OK
        let started = unsafe list.pointee.C_Initialize?(&arguments) ?? CKR_FUNCTION_NOT_SUPPORTED
        guard started == CKR_CRYPTOKI_ALREADY_INITIALIZED || started == CKR_OK else {
            throw TokenSession.failure("initialise the module", started)
        }
    }

    /// Opens a session with the token of this label, and logs in.
    ///
    /// - Parameter mayWrite: whether objects can be created in the token. One that is write-protected refuses such a
    ///   session.
    package func session(
        with label: String, pin: String, mayWrite: Bool = false
    ) throws(TokenError) -> TokenSession {
        let slot = try slot(ofToken: label)
        var session: ck_session_handle_t = 0
        let flags = mayWrite ? CKF_SERIAL_SESSION | CKF_RW_SESSION : CKF_SERIAL_SESSION
        try TokenSession.check(
            "open a session", unsafe functions.pointee.C_OpenSession?(slot, flags, nil, nil, &session))
        let opened = unsafe TokenSession(functions: functions, handle: session)
        do throws(TokenError) { try opened.logIn(pin) } catch {
            opened.close()
            throw error
        }
        return opened
    }

    private func slot(ofToken label: String) throws(TokenError) -> ck_slot_id_t {
        var count: UInt = 0
        try TokenSession.check("list the tokens", unsafe functions.pointee.C_GetSlotList?(1, nil, &count))
        // A token may be plugged in between the calls.
        var slots = [ck_slot_id_t](repeating: 0, count: Int(count) + 8)
        count = UInt(slots.count)
        try TokenSession.check("list the tokens", unsafe functions.pointee.C_GetSlotList?(1, &slots, &count))
        for slot in slots.prefix(Int(count)) {
            var info = ck_token_info()
            guard unsafe functions.pointee.C_GetTokenInfo?(slot, &info) == CKR_OK else { continue }
            let bytes = unsafe withUnsafeBytes(of: info.label) { unsafe Array($0) }
            let name = String(decoding: bytes, as: UTF8.self)
            if name.prefix(while: { $0 != "\0" }).trimmed == label { return slot }
        }
        throw TokenError(.unavailable, "No token \(label) is there.")
    }
}

extension Substring {
    /// Labels are padded with blanks.
    fileprivate var trimmed: String {
        var text = self
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}
