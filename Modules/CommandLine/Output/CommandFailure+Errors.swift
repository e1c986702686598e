import SallyportAuthToken
import SallyportAuthTokenVerification
import SallyportAuthorization
import SallyportCookies
import SallyportCore
import SallyportDoor
import SallyportGateway
import SallyportSecureStore
import SallyportTransport
import SallyportWire

#if Kerberos
import SallyportKerberos
#endif

extension CommandFailure {
    /// Converts a module's error to the program's; nil for an error of the command line itself.
    init?(_ error: any Error) {
        switch error {
        case let failure as CommandFailure: self = failure
        case let interruption as Interruption: self = interruption.failure
        case is CancellationError: self.init(.software, name: "cancelled", "The command was cancelled.")
        case let error as LoadError: self.init(error)
        case let error as AccessDenied: self.init(LoadError(error))
        case let error as AuthorizationError: self.init(error)
        case let error as StoreError: self.init(error)
        case let error as CookieError: self.init(error)
        case let error as AuthTokenError: self.init(error)
        case let error as AuthTokenVerificationError: self.init(error)
        case let error as DoorError: self.init(error)
        case let error as GatewayError: self.init(error)
        case let error as AddressError: self.init(.usage, name: "invalidAddress", error.message)
        case let error as WireError: self.init(.usage, name: "\(error.code)", error.message)
        default:
            #if Kerberos
            guard let error = error as? KerberosError else { return nil }
            self.init(error)
            #else
            return nil
            #endif
        }
    }

    /// An error that no command expects.
    init(unforeseen error: any Error) { self.init(.software, name: "internalFailure", "\(error)") }
}

#if Kerberos
extension CommandFailure {
    init(_ error: KerberosError) {
        if let store = error.underlying as? StoreError {
            self.init(store)
        } else {
            self.init(.software, name: "\(error.code)", error.message)
        }
    }
}
#endif

// MARK: Loading

extension CommandFailure {
    init(_ error: LoadError) {
        let denied = error.underlying as? AccessDenied
        let code = denied.flatMap { $0.code == .none ? nil : $0.code }
        // What the gate says of this is for apps, which call it.
        let message = denied?.reason == .notAuthorized ? "\(error.code): The app is not authorized." : "\(error)"
        self.init(
            Self.status(of: error), code: code?.rawValue, name: code?.name ?? "\(error.code)", message,
            hint: Self.hint(for: error.code, code))
    }

    private static func status(of error: LoadError) -> ExitStatus {
        if let refusal = error.underlying as? RelayRefusal { return status(of: refusal) }
        return switch error.code {
        case .notAuthorized, .withdrawn, .refusedByPolicy, .disabled: .notAuthorized
        case .cannotFindHost, .cannotConnect, .connectionLost, .relayUnreachable, .proxyUnreachable,
            .idleTimeout, .resourceTimeout:
            .unavailable
        case .invalidRequest, .invalidConfiguration, .unsupportedScheme, .bodyNotReplayable: .usage
        case .fileSystem, .requestBodyFailed: .inputOutput
        case .cancelled, .internalFailure, .handlerFailed, .backgroundUnsupported, .sessionInvalidated: .software
        default: .protocolError
        }
    }

    /// A relay speaks for the policy, or for the server behind it.
    private static func status(of refusal: RelayRefusal) -> ExitStatus {
        if refusal.isByPolicy { return .notAuthorized }
        return [502, 503, 504].contains(refusal.status) ? .unavailable : .protocolError
    }

    private static func hint(for code: LoadError.Code, _ result: ResultCode?) -> String? {
        switch (code, result) {
        case (.notAuthorized, _): "activate the app with 'sallyport activate'"
        case (.withdrawn, let result): hint(forWithdrawal: result ?? .none)
        case (.refusedByPolicy, _): "'sallyport explain URL' says which rule decides"
        case (.clientCertificateRefused, _): "a client certificate is shown with --cert FILE"
        case (.serverNotTrusted, _): "a private authority is trusted with --ca FILE"
        case (.otherPrincipal, _): "another user needs another --principal NAME"
        case (.unsupportedScheme, _): "http and https are loaded"
        case (.insecureRedirect, _): "--insecure-redirects follows it"
        case (.tooManyRedirects, _): "--no-redirect shows the first answer"
        case (.noCommonTLSVersion, _): "'sallyport explain URL' lists the versions that are offered"
        case (.cannotFindHost, _), (.cannotConnect, _), (.connectionLost, _), (.idleTimeout, _), (.relayUnreachable, _),
            (.relayNotTrusted, _), (.relayRefused, _):
            "'sallyport doctor SERVER' checks every step to the server"
        case (.resourceTimeout, _): "--max-time allows more; 'sallyport doctor SERVER' checks every step to the server"
        default: nil
        }
    }
}

// MARK: Doors

extension CommandFailure {
    init(_ error: DoorError) {
        let status: ExitStatus =
            switch error.code {
            case .inUse, .cannotListen: .unavailable
            case .invalidPlace, .invalidCredential: .usage
            default: .inputOutput
            }
        let hint = error.code == .inUse ? "give another place with --listen or --socket" : nil
        self.init(status, name: "\(error.code)", error.message, hint: hint)
    }
}

// MARK: Authorization

extension CommandFailure {
    init(_ error: AuthorizationError) {
        if let store = error.underlying as? StoreError {
            self.init(store)
        } else {
            let code = error.result == .none ? nil : error.result.rawValue
            let cause = (error.underlying as? LoadError).map { " \($0)" } ?? ""
            self.init(
                Self.status(of: error.code), code: code, name: code == nil ? "\(error.code)" : error.result.name,
                "\(error)\(cause)", hint: Self.hint(for: error))
        }
    }

    private static func status(of code: AuthorizationError.Code) -> ExitStatus {
        switch code {
        case .invalidApplication, .invalidLink, .alreadyActivated: .usage
        case .unreachable: .unavailable
        case .authorityMismatch, .communicationFailed, .invalidConfiguration, .provisioningFailed: .protocolError
        case .cancelled: .software
        case .store: .inputOutput
        default: .notAuthorized
        }
    }

    private static func hint(for error: AuthorizationError) -> String? {
        switch (error.code, error.result) {
        case (.identityExpired, _), (.credentialsRefused, _), (.linkUsed, _), (.linkExpired, _):
            "ask the administrator for a new activation link"
        case (.withdrawn, let result): hint(forWithdrawal: result)
        case (.versionNotEntitled, _):
            "give another --version, or have the administrator entitle the user to it, and use the link again"
        case (.authorityMismatch, _):
            "see that it is the gateway that answers; if so, ask the administrator for a new activation link"
        case (.notActivated, _): "activate the app with 'sallyport activate'"
        case (.alreadyActivated, _): "another instance needs another --store"
        case (.unreachable, _): "see that the gateway runs, and that this machine knows its name"
        default: nil
        }
    }
}

extension CommandFailure {
    private static func hint(forWithdrawal result: ResultCode) -> String {
        switch result {
        case .wiped, .appDenied: "ask the administrator for a new activation link"
        case .appVersionNotEntitled: "ask the administrator to entitle the user to this version of the app"
        // By the administrator, or because the lease is over.
        case .blocked: "'sallyport doctor' says what to do"
        default: "ask the administrator, who sees it in 'sallyport admin instances'"
        }
    }
}

// MARK: Stores

extension CommandFailure {
    init(_ error: StoreError) {
        self.init(
            Self.status(of: error.code), code: error.code == .wiped ? ResultCode.wiped.rawValue : nil,
            name: "\(error.code)", error.message, hint: Self.hint(for: error))
    }

    private static func status(of code: StoreError.Code) -> ExitStatus {
        switch code {
        case .inUse: .inUse
        case .wiped: .notAuthorized
        case .notFound, .invalidName, .readOnly: .usage
        case .internalFailure, .closed: .software
        default: .inputOutput
        }
    }

    private static func hint(for error: StoreError) -> String? {
        switch error.code {
        case .notFound: "'sallyport activate' makes an app's store, 'sallyport gateway init' a gateway's"
        case .unsafePermissions: "stores and keys are for the user as which the program runs, or root, alone"
        case .wrongKey, .keyUnavailable:
            "--key-file, --passphrase-file or --systemd-credential names the key with which the store was made"
        case .damaged where error.underlying is StoreFileLost:
            "'sallyport store restore BACKUP' puts a backup in its place"
        case .damaged:
            "'sallyport store verify' finds what is damaged, 'sallyport store restore' puts a backup in its place"
        case .unsupportedFormat: "use the version of the program that wrote it"
        case .wiped: "a new activation is needed: ask for another link"
        case .inUse: "end that process first; what only shows, as status and list, works beside it"
        default: nil
        }
    }
}

// MARK: Cookies

extension CommandFailure {
    init(_ error: CookieError) {
        if let store = error.underlying as? StoreError {
            self.init(store)
        } else {
            self.init(error.code == .store ? .inputOutput : .usage, name: "\(error.code)", error.message)
        }
    }
}

// MARK: Gateway

extension CommandFailure {
    init(_ error: GatewayError) {
        if let store = error.underlying as? StoreError, store.code != .inUse {
            self.init(store)
        } else {
            self.init(
                Self.status(of: error.code), name: "\(error.code)", error.message, hint: Self.hint(for: error.code))
        }
    }

    static func status(of code: GatewayError.Code) -> ExitStatus {
        switch code {
        case .cannotBind, .unreachable: .unavailable
        case .inUse: .inUse
        case .fileSystem, .unsafePermissions, .store: .inputOutput
        case .unauthorized, .forbidden, .locked, .expired, .keyUsed, .keyExpired, .wrongApplication,
            .versionNotEntitled:
            .notAuthorized
        case .internalFailure, .ended, .cancelled: .software
        default: .usage
        }
    }

    private static func hint(for code: GatewayError.Code) -> String? {
        switch code {
        case .notInitialized: "'sallyport gateway init --data DIR' makes one"
        case .alreadyInitialized: "give another directory with --data"
        case .inUse: "end the gateway that runs on it; 'sallyport admin' works beside a gateway"
        case .cannotBind: "give another address with --control, --relay, --metrics or --verification-plain"
        default: nil
        }
    }
}
