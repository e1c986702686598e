import SallyportCore

extension CommandFailure {
    /// The modules' errors as the program tells them; nil for an error of the command line itself.
    init?(_ error: any Error) {
        switch error {
        case let failure as CommandFailure: self = failure
        case let interruption as Interruption: self = interruption.failure
        case is CancellationError: self.init(.software, name: "cancelled", "Cancelled.")
        case let error as LoadError: self.init(error)
        case let error as AccessDenied: self.init(LoadError(error))
        case let error as AddressError: self.init(.usage, name: "invalidAddress", error.message)
        default: return nil
        }
    }

    init(_ error: LoadError) {
        let denied = error.underlying as? AccessDenied
        let code = denied.flatMap { $0.code == .none ? nil : $0.code }
        self.init(
            Self.status(of: error.code), code: code?.rawValue, name: code?.name ?? "\(error.code)", "\(error)",
            hint: Self.hint(for: error.code, code))
    }

    private static func status(of code: LoadError.Code) -> ExitStatus {
        switch code {
        case .notAuthorized, .withdrawn, .refusedByPolicy, .disabled: .notAuthorized
        case .cannotFindHost, .cannotConnect, .connectionLost, .relayUnreachable, .idleTimeout, .resourceTimeout:
            .unavailable
        case .invalidRequest, .unsupportedScheme, .bodyNotReplayable: .usage
        case .fileSystem, .requestBodyFailed: .inputOutput
        case .cancelled, .internalFailure, .handlerFailed, .backgroundUnsupported, .sessionInvalidated: .software
        default: .protocolError
        }
    }

    private static func hint(for code: LoadError.Code, _ result: ResultCode?) -> String? {
        switch (code, result) {
        case (.notAuthorized, _): "activate the app with 'sallyport activate'"
        case (.withdrawn, .wiped?), (.withdrawn, .appDenied?): "a new activation is needed: ask for another link"
        case (.withdrawn, _): "ask the administrator; 'sallyport status' shows the code"
        case (.refusedByPolicy, _): "'sallyport explain URL' says which rule decides"
        case (.serverNotTrusted, _): "a private authority is trusted with --ca FILE"
        case (.unsupportedScheme, _): "http and https are loaded"
        default: nil
        }
    }
}
