public import Foundation
public import SallyportCore

extension URLError {
    /// Why the load failed, where this error comes from a task that was bridged: with the code, how far the load had
    /// come, and below it the documented code of a refusal.
    public var loadError: LoadError? { userInfo[NSUnderlyingErrorKey] as? LoadError }

    /// - Parameter url: what was asked for; it stands in the error without its query.
    init(_ error: LoadError, loading url: URL?) {
        var userInfo: [String: Any] = [NSUnderlyingErrorKey: error, NSLocalizedDescriptionKey: "\(error)"]
        if let url = url.flatMap(Self.redacted) { userInfo[NSURLErrorFailingURLErrorKey] = url }
        self.init(URLErrorCodes.code(of: error.code), userInfo: userInfo)
    }

    /// Without user, query and fragment; nil where it is no URL of the kind.
    private static func redacted(_ url: URL) -> URL? {
        guard var parts = URLComponents(url: url, resolvingAgainstBaseURL: true), parts.host != nil else { return nil }
        (parts.user, parts.password, parts.query, parts.fragment) = (nil, nil, nil, nil)
        return parts.url
    }
}

/// The table of Docs/FoundationBridge.md.
enum URLErrorCodes {
    static let table: [LoadError.Code: URLError.Code] = [
        .cancelled: .cancelled,
        .idleTimeout: .timedOut,
        .resourceTimeout: .timedOut,
        .notAuthorized: .userAuthenticationRequired,
        .withdrawn: .userAuthenticationRequired,
        .refusedByPolicy: .dataNotAllowed,
        .disabled: .resourceUnavailable,
        .sessionInvalidated: .resourceUnavailable,
        .invalidRequest: .badURL,
        .unsupportedScheme: .unsupportedURL,
        .bodyNotReplayable: .requestBodyStreamExhausted,
        .requestBodyFailed: .requestBodyStreamExhausted,
        .cannotFindHost: .cannotFindHost,
        .cannotConnect: .cannotConnectToHost,
        .relayUnreachable: .cannotConnectToHost,
        .relayRefused: .cannotConnectToHost,
        .proxyUnreachable: .cannotConnectToHost,
        .proxyRefused: .cannotConnectToHost,
        .connectionLost: .networkConnectionLost,
        .tlsFailed: .secureConnectionFailed,
        .noCommonTLSVersion: .secureConnectionFailed,
        .relayNotTrusted: .secureConnectionFailed,
        .proxyNotTrusted: .secureConnectionFailed,
        .serverNotTrusted: .serverCertificateUntrusted,
        .clientCertificateRefused: .clientCertificateRejected,
        .relayProtocol: .badServerResponse,
        .proxyProtocol: .badServerResponse,
        .protocolViolation: .badServerResponse,
        .notInCache: .resourceUnavailable,
        .responseTooLarge: .dataLengthExceedsMaximum,
        .decodingFailed: .cannotDecodeContentData,
        .tooManyRedirects: .httpTooManyRedirects,
        .redirectRefused: .redirectToNonExistentLocation,
        .insecureRedirect: .appTransportSecurityRequiresSecureConnection,
        .authenticationCancelled: .userCancelledAuthentication,
        .proxyAuthenticationRequired: .userAuthenticationRequired,
        .proxyWithRelay: .resourceUnavailable,
        .otherPrincipal: .userAuthenticationRequired,
        .unsupported: .userAuthenticationRequired,
        .serverNotAuthenticated: .badServerResponse,
        .fileSystem: .cannotOpenFile,
    ]

    /// `unknown` for what is not in the table.
    static func code(of code: LoadError.Code) -> URLError.Code { table[code] ?? .unknown }
}
