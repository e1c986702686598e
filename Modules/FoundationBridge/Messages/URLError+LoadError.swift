public import Foundation
public import SallyportCore

extension URLError {
    /// Why the load failed, if this error comes from a bridged task: the code, the progress of the load, and the result
    /// code of a refusal as the underlying error.
    public var loadError: LoadError? { userInfo[NSUnderlyingErrorKey] as? LoadError }

    /// - Parameter url: the requested URL; the error contains it without the query.
    init(_ error: LoadError, loading url: URL?) {
        var userInfo: [String: Any] = [NSUnderlyingErrorKey: error, NSLocalizedDescriptionKey: "\(error)"]
        if let url = url.flatMap(Self.redacted) { userInfo[NSURLErrorFailingURLErrorKey] = url }
        self.init(URLErrorCodes.code(of: error.code), userInfo: userInfo)
    }

    /// The URL without user, query and fragment; nil if it is not such a URL.
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

    /// `unknown` for codes that the table does not contain.
    static func code(of code: LoadError.Code) -> URLError.Code { table[code] ?? .unknown }
}
