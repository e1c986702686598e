internal import CCurl
internal import SallyportCore
internal import SallyportLoading

/// Converts libcurl's codes to errors of a load: the only such table.
struct ErrorMap {
    let attempt: Attempt
    let handle: EasyHandle
    let isRelayed: Bool
    let proxy: ProxyAccess?

    func error(for code: CURLcode) -> LoadError {
        // The name is checked after the handshake.
        let step = code == CURLE_PEER_FAILED_VERIFICATION ? attempt.step : attempt.reachedStep
        if let error = certificateAlert(step) { return error }
        if let proxy, let error = proxyError(proxy.proxy, step, code) { return error }
        return switch step {
        case .routing, .nameLookup, .connect: connecting(step, code)
        case .relayTLS, .serverTLS: securing(step, code)
        case .relayConnect: asking(code)
        case .proxyTLS, .proxyConnect: unknown(step, code)
        case .request, .response: exchanging(step, code)
        }
    }

    private func connecting(_ step: LoadError.Step, _ code: CURLcode) -> LoadError {
        let text = handle.errorMessage
        let cause = code == CURLE_OPERATION_TIMEDOUT ? ConnectTimeout() : nil
        if isRelayed {
            return LoadError(.relayUnreachable, at: step, "No connection to the relay: \(text)", underlying: cause)
        }
        if code == CURLE_COULDNT_RESOLVE_HOST { return LoadError(.cannotFindHost, at: .nameLookup, text) }
        return switch code {
        case CURLE_COULDNT_CONNECT, CURLE_OPERATION_TIMEDOUT:
            LoadError(.cannotConnect, at: .connect, text, underlying: cause)
        case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL:
            LoadError(.invalidRequest, at: step, "libcurl does not take the URL.")
        default: unknown(step, code)
        }
    }

    private func securing(_ step: LoadError.Step, _ code: CURLcode) -> LoadError {
        let isRelay = step == .relayTLS
        let record = attempt.handshakes.last
        if code == CURLE_OPERATION_TIMEDOUT {
            return LoadError(.idleTimeout, at: step, "The handshake did not end in time.")
        }
        if let request = record?.certificateRequest(at: attempt.endpoint) { return request }
        if record?.lacksPinnedKey == true {
            return LoadError(.serverNotTrusted, at: step, "None of the server's keys is pinned for its host.")
        }
        // Through a relay, a failed check of the inner certificate is reported as a connect error: the verdict
        // distinguishes them.
        if code == CURLE_PEER_FAILED_VERIFICATION || record?.isUntrusted == true {
            return isRelay ? LoadError(.relayNotTrusted, at: step, handle.errorMessage) : untrusted(record)
        }
        if let error = record?.versionRefusal(at: step) { return error }
        if record?.isDone == false, record?.alert == nil, Self.isLoss(code) {
            return LoadError(.connectionLost, at: step, "The connection ended in the handshake.")
        }
        return LoadError(
            .tlsFailed, at: step, handle.errorMessage, underlying: record?.alert.map { TLSAlert(description: $0) })
    }

    private func untrusted(_ record: HandshakeRecord?) -> LoadError {
        record?.untrusted(at: attempt.endpoint, over: connection)
            ?? LoadError(.serverNotTrusted, at: .serverTLS, handle.errorMessage)
    }

    private var connection: ConnectionFacts { attempt.connectionFacts(handle, proxy: proxy) }

    /// TLS 1.3 tells of a refused client certificate only after the handshake, so the alert counts at any step.
    private func certificateAlert(_ step: LoadError.Step) -> LoadError? {
        HandshakeRecord.certificateRefusal(in: attempt.handshakes)
    }

    private func asking(_ code: CURLcode) -> LoadError {
        let answer = attempt.relayAnswer
        if code == CURLE_WRITE_ERROR {
            return LoadError(.relayProtocol, at: .relayConnect, "The relay's header block is too long.")
        }
        if answer.status >= 300 {
            let detail = answer.proxyStatus.map { ", \($0)" } ?? ""
            return LoadError(
                .relayRefused, at: .relayConnect, "The relay answered CONNECT with \(answer.status)\(detail).",
                underlying: RelayRefusal(
                    status: answer.status, proxyStatus: answer.proxyStatus, retryAfter: answer.retryAfter))
        }
        if code == CURLE_OPERATION_TIMEDOUT {
            return LoadError(.idleTimeout, at: .relayConnect, "The relay did not answer CONNECT in time.")
        }
        let isSilent = answer.status == 0 && Self.isLoss(code) && !handle.errorMessage.contains("response")
        if isSilent {
            return LoadError(.connectionLost, at: .relayConnect, "The relay closed the connection without an answer.")
        }
        return LoadError(.relayProtocol, at: .relayConnect, "The relay's answer to CONNECT is not HTTP.")
    }

    private func exchanging(_ step: LoadError.Step, _ code: CURLcode) -> LoadError {
        // libcurl has one code for a broken chunk and a broken connection.
        if code == CURLE_RECV_ERROR, handle.errorMessage.contains("chunked-encoding") {
            return LoadError(.protocolViolation, at: .response, "The chunks of the body are broken.")
        }
        return switch code {
        // A line longer than libcurl's buffer, which is longer than accepted here.
        case CURLE_OUT_OF_MEMORY:
            LoadError(.responseTooLarge, at: .response, "A line of the answer is too long.")
        case CURLE_GOT_NOTHING, CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_PARTIAL_FILE, CURLE_HTTP2_STREAM,
            CURLE_SEND_FAIL_REWIND:
            LoadError(.connectionLost, at: step, "The connection ended before the answer was whole.")
        // The last case: a folded line without a preceding one.
        case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_HTTP2, CURLE_BAD_CONTENT_ENCODING,
            CURLE_BAD_FUNCTION_ARGUMENT:
            LoadError(.protocolViolation, at: .response, "The server's bytes are not HTTP.")
        case CURLE_OPERATION_TIMEDOUT:
            LoadError(.idleTimeout, at: step, "The exchange did not go on in time.")
        case CURLE_ABORTED_BY_CALLBACK:
            LoadError(.requestBodyFailed, at: .request, "The request's body ended early.")
        default: unknown(step, code)
        }
    }

    private func unknown(_ step: LoadError.Step, _ code: CURLcode) -> LoadError {
        LoadError(.internalFailure, at: step, "libcurl code \(code.rawValue).")
    }

    static func isLoss(_ code: CURLcode) -> Bool {
        [CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_GOT_NOTHING, CURLE_SSL_CONNECT_ERROR].contains { $0 == code }
    }
}

/// No server answered within the time limit for connecting: the underlying error of `cannotConnect` and
/// `relayUnreachable`.
package struct ConnectTimeout: Error, Sendable, Hashable {
    package init() {}
}
