package import SallyportCore

extension LoadError {
    /// Whether the app may no longer use the connection; what came over it before is not delivered either.
    package var endsTheWay: Bool {
        switch code {
        case .withdrawn, .notAuthorized, .refusedByPolicy, .sessionInvalidated: true
        default: false
        }
    }
}
