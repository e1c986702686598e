public import SallyportBase

/// Why a load failed: the common error of exchanges, tunnels, stages and sessions.
public struct LoadError: CodedError, Sendable {
    /// What failed. Two errors are equal if their codes are, whatever their steps.
    public let code: Code
    /// How far the load had come.
    public let step: Step?
    /// A description for people. It contains no header value, token, body, key, cookie or query.
    public let message: String
    /// The error that caused this one, as the code describes; nil if there is none.
    public let underlying: (any Error)?
    /// The place in the source that made the error, for reports of faults.
    public let location: ErrorLocation

    /// An error, for stages and handlers of an app's own.
    ///
    /// - Parameters:
    ///   - code: what failed.
    ///   - step: how far the load had come; nil if it had not begun, or if no step applies.
    ///   - message: for people; without secrets.
    ///   - underlying: the cause; nil if there is none.
    ///   - fileID: the place that makes the error; leave the default.
    ///   - line: as `fileID`.
    public init(
        _ code: Code, at step: Step? = nil, _ message: String, underlying: (any Error)? = nil,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        self.code = code
        self.step = step
        self.message = message
        self.underlying = underlying
        location = ErrorLocation(fileID: fileID, line: line)
    }

    /// Bounded text for metrics: the code and the step.
    public var shortDescription: String { step.map { "\(code)@\($0)" } ?? "\(code)" }

    public var description: String { step.map { "\(code) at \($0): \(message)" } ?? "\(code): \(message)" }
}

extension LoadError {
    /// What went wrong. Later versions may add codes; handle those that you know and treat the others as failures.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String {
            case cancelled, idleTimeout, resourceTimeout, notAuthorized, withdrawn, refusedByPolicy, disabled
            case invalidRequest, unsupportedScheme, bodyNotReplayable, backgroundUnsupported, sessionInvalidated
            case cannotFindHost, cannotConnect, connectionLost, tlsFailed, serverNotTrusted, clientCertificateRefused
            case noCommonTLSVersion, invalidConfiguration, relayUnreachable, relayNotTrusted, relayRefused,
                relayProtocol
            case proxyWithRelay, proxyUnreachable, proxyNotTrusted, proxyRefused, proxyProtocol
            case proxyAuthenticationRequired
            case notInCache, protocolViolation, responseTooLarge, decodingFailed, tooManyRedirects, redirectRefused
            case insecureRedirect
            case authenticationCancelled, otherPrincipal, serverNotAuthenticated, unsupported
            case credentialRefused, kerberosFailed, delegationUnavailable
            case requestBodyFailed, handlerFailed, fileSystem, internalFailure
        }
        private let value: Value

        /// The task was cancelled; the underlying error is a `CancellationError`.
        public static let cancelled = Code(value: .cancelled)
        /// There was no byte in either direction during the idle time-out. Retryable if the method is.
        public static let idleTimeout = Code(value: .idleTimeout)
        /// The whole load took longer than the resource time-out.
        public static let resourceTimeout = Code(value: .resourceTimeout)
        /// `authorize()` has not succeeded.
        public static let notAuthorized = Code(value: .notAuthorized)
        /// Authorization is withdrawn; the underlying ``AccessDenied`` has the result code.
        public static let withdrawn = Code(value: .withdrawn)
        /// The route to the server is `deny`.
        public static let refusedByPolicy = Code(value: .refusedByPolicy)
        /// Secure communication is switched off for this session.
        public static let disabled = Code(value: .disabled)
        /// The request, or the call, is wrong by itself: a URL, a field, a credential or a delegate's answer that
        /// cannot be used, or a call in the wrong state. Repeating it does not help.
        public static let invalidRequest = Code(value: .invalidRequest)
        /// No registered handler accepts the request.
        public static let unsupportedScheme = Code(value: .unsupportedScheme)
        /// The request would have to be sent again, but its body can be read only once.
        public static let bodyNotReplayable = Code(value: .bodyNotReplayable)
        /// Background sessions are not available: no service loads while the process does not run.
        public static let backgroundUnsupported = Code(value: .backgroundUnsupported)
        /// The session was invalidated, or is finishing its last loads.
        public static let sessionInvalidated = Code(value: .sessionInvalidated)
        /// The name has no address. Retryable.
        public static let cannotFindHost = Code(value: .cannotFindHost)
        /// No address of the server accepted a connection. Retryable.
        public static let cannotConnect = Code(value: .cannotConnect)
        /// The connection ended before the answer was complete. Retryable if the method is.
        public static let connectionLost = Code(value: .connectionLost)
        /// A handshake failed, or the peer ended the connection with an alert, for a reason that has no code of its
        /// own.
        public static let tlsFailed = Code(value: .tlsFailed)
        /// The server's certificate fails verification.
        public static let serverNotTrusted = Code(value: .serverNotTrusted)
        /// The server, or the relay, requires a client certificate: none was presented, or the one that was presented
        /// is refused. ``LoadError/step`` says which of the two.
        public static let clientCertificateRefused = Code(value: .clientCertificateRefused)
        /// The settings, the blocked versions and the minimum leave no TLS version to offer.
        public static let noCommonTLSVersion = Code(value: .noCommonTLSVersion)
        /// A setting has an invalid value.
        public static let invalidConfiguration = Code(value: .invalidConfiguration)
        /// No relay of the cluster accepted a connection. Retryable.
        public static let relayUnreachable = Code(value: .relayUnreachable)
        /// The relay's certificate was not issued by the pinned authority, or is for another host.
        public static let relayNotTrusted = Code(value: .relayNotTrusted)
        /// The relay answered CONNECT with an error; the message has its status and `Proxy-Status`.
        public static let relayRefused = Code(value: .relayRefused)
        /// The relay answered with something that is not HTTP.
        public static let relayProtocol = Code(value: .relayProtocol)
        /// The session has a proxy for the server, but the route is a relay, which cannot be used through a proxy.
        public static let proxyWithRelay = Code(value: .proxyWithRelay)
        /// The proxy of a direct route has no address, or accepted no connection. Retryable.
        public static let proxyUnreachable = Code(value: .proxyUnreachable)
        /// The proxy's certificate fails verification.
        public static let proxyNotTrusted = Code(value: .proxyNotTrusted)
        /// The proxy refuses to connect to the server; the message has its status or its reply.
        public static let proxyRefused = Code(value: .proxyRefused)
        /// The proxy's answer is neither valid HTTP nor SOCKS 5.
        public static let proxyProtocol = Code(value: .proxyProtocol)
        /// The proxy requires authentication; no credential was given, or the proxy refused it.
        public static let proxyAuthenticationRequired = Code(value: .proxyAuthenticationRequired)
        /// Only the cache was allowed to answer, but nothing is stored for the request.
        public static let notInCache = Code(value: .notInCache)
        /// The server's bytes are not HTTP.
        public static let protocolViolation = Code(value: .protocolViolation)
        /// A header block, or a body that is collected, is longer than its limit.
        public static let responseTooLarge = Code(value: .responseTooLarge)
        /// The content coding is invalid, or the decoded body is longer than allowed.
        public static let decodingFailed = Code(value: .decodingFailed)
        /// More redirects than the limit, or a redirect loop.
        public static let tooManyRedirects = Code(value: .tooManyRedirects)
        /// The redirect leads to a URL that this session does not load, or the app refused it.
        public static let redirectRefused = Code(value: .redirectRefused)
        /// The redirect leads from https to http, and neither the request nor the session allows that.
        public static let insecureRedirect = Code(value: .insecureRedirect)
        /// The app cancelled a challenge.
        public static let authenticationCancelled = Code(value: .authenticationCancelled)
        /// In this protection space the principal is known as another user. Clear its credentials first, or load in the
        /// name of another principal.
        public static let otherPrincipal = Code(value: .otherPrincipal)
        /// The proof of the server or the proxy that it knows the user is invalid.
        public static let serverNotAuthenticated = Code(value: .serverNotAuthenticated)
        /// The user's authority, such as a Kerberos realm, refuses the credential. The load continues with the next
        /// challenge, or with the server's answer as its result.
        public static let credentialRefused = Code(value: .credentialRefused)
        /// No Kerberos ticket is available; the underlying `KerberosError` says why.
        public static let kerberosFailed = Code(value: .kerberosFailed)
        /// Delegation is allowed and the server may receive it, but the realm issues no ticket for it.
        public static let delegationUnavailable = Code(value: .delegationUnavailable)
        /// The request cannot be fulfilled here: NTLM with a proxy.
        public static let unsupported = Code(value: .unsupported)
        /// The app's own request body threw an error.
        public static let requestBodyFailed = Code(value: .requestBodyFailed)
        /// A protocol handler threw an error of its own.
        public static let handlerFailed = Code(value: .handlerFailed)
        /// A file could not be read or written.
        public static let fileSystem = Code(value: .fileSystem)
        /// An unknown condition; the underlying error keeps its number.
        public static let internalFailure = Code(value: .internalFailure)

        public var description: String { value.rawValue }

        /// Whether the same request may succeed later without a change of settings. Whether it may be *sent* again
        /// also depends on its method (RFC 9110 §9.2.2).
        public var isTransient: Bool {
            switch self {
            case .idleTimeout, .cannotFindHost, .cannotConnect, .connectionLost, .relayUnreachable, .proxyUnreachable:
                true
            default: false
            }
        }
    }

    /// The steps of a load, in their order.
    public enum Step: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
        /// Before any connection: admission, the policy's decision, and the choice of relay or proxy.
        case routing
        /// Looking up the name of the server, the relay or the proxy.
        case nameLookup = "name look-up"
        /// The TCP connection to the server, the relay or the proxy.
        case connect
        /// The handshake with a relay.
        case relayTLS = "TLS with the relay"
        /// The relay's answer to CONNECT.
        case relayConnect = "CONNECT at the relay"
        /// The handshake with a proxy.
        case proxyTLS = "TLS with the proxy"
        /// The proxy's answer to CONNECT, or the exchange of SOCKS 5.
        case proxyConnect = "asking the proxy"
        /// The handshake with the server, also through a relay or a proxy.
        case serverTLS = "TLS with the server"
        /// Sending the request and its body.
        case request
        /// Waiting for the answer and reading it, its body included.
        case response

        public var description: String { rawValue }
    }
}

extension LoadError {
    /// Converts the gate's refusal to a load's error.
    public init(_ denied: AccessDenied, fileID: StaticString = #fileID, line: UInt = #line) {
        let code: Code =
            switch denied.reason {
            case .notAuthorized: .notAuthorized
            case .withdrawn: .withdrawn
            case .denied: .refusedByPolicy
            }
        self.init(code, at: .routing, "\(denied)", underlying: denied, fileID: fileID, line: line)
    }

    package static func cancelled(fileID: StaticString = #fileID, line: UInt = #line) -> LoadError {
        LoadError(
            .cancelled, "The task was cancelled.", underlying: CancellationError(), fileID: fileID, line: line)
    }
}
