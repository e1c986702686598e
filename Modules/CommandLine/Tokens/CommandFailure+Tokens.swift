import SallyportAuthToken
import SallyportAuthTokenVerification
import SallyportCore
import SallyportSecureStore
import SallyportWire

extension CommandFailure {
    init(_ error: AuthTokenError) {
        if let denied = error.underlying as? AccessDenied {
            self.init(LoadError(denied))
        } else if let store = error.underlying as? StoreError {
            self.init(store)
        } else {
            let cause = (error.underlying as? LoadError).map { " \($0)" } ?? ""
            self.init(
                Self.status(of: error.code), code: error.code.number, name: "\(error.code)", error.message + cause,
                hint: Self.hint(for: error.code))
        }
    }

    private static func status(of code: AuthTokenError.Code) -> ExitStatus {
        switch code {
        case .retry, .notSupported: .unavailable
        case .notAuthorized, .withdrawn: .notAuthorized
        case .store: .inputOutput
        case .cancelled: .software
        default: .usage
        }
    }

    private static func hint(for code: AuthTokenError.Code) -> String? {
        switch code {
        case .retry: "try again later"
        case .notSupported: "this gateway issues no tokens"
        case .withdrawn: "ask the administrator, who sees it in 'sallyport admin instances'"
        default: nil
        }
    }
}

extension CommandFailure {
    /// The failure for a result: with the service's number if it has one, otherwise with the exit status.
    init(_ error: AuthTokenVerificationError) {
        let load = error.underlying as? LoadError
        let cause = load?.description ?? (error.underlying as? WireError)?.message
        self.init(
            Self.status(of: error.code), code: error.code.number, name: "\(error.code)",
            error.message + (cause.map { " \($0)" } ?? ""), hint: Self.hint(for: error.code, load))
    }

    private static func hint(for code: AuthTokenVerificationError.Code, _ cause: LoadError?) -> String? {
        if cause?.code == .serverNotTrusted { return "the gateway's authority is trusted with --ca FILE" }
        return code.isMendedByANewToken ? "a new token is needed" : nil
    }

    private static func status(of code: AuthTokenVerificationError.Code) -> ExitStatus {
        switch code {
        case .unavailable: .unavailable
        case .store, .cancelled: .software
        default: .notAuthorized
        }
    }
}
