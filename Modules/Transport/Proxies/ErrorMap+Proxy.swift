internal import CCurl
internal import HTTPTypes
internal import SallyportCore
internal import SallyportLoading

extension ErrorMap {
    /// A failure between this machine and the proxy, or of the proxy; nil if it was a failure of the server.
    func proxyError(_ proxy: Proxy, _ step: LoadError.Step, _ code: CURLcode) -> LoadError? {
        let text = handle.errorMessage
        switch (code, step) {
        case (CURLE_PROXY, _): return socksError(proxy)
        case (CURLE_COULDNT_RESOLVE_PROXY, _):
            return LoadError(.proxyUnreachable, at: .nameLookup, "The name of \(proxy) has no address.")
        case (_, .routing), (_, .nameLookup), (_, .connect):
            if hasAsked(code) { return refusal(proxy, code) }
            return LoadError(.proxyUnreachable, at: step, "No connection to \(proxy): \(text)")
        case (_, .proxyTLS): return proxySecuring(proxy, code)
        case (_, .proxyConnect): return refusal(proxy, code)
        default: return nil
        }
    }

    /// Whether CONNECT was sent unencrypted; only libcurl's message tells this (7.88).
    private func hasAsked(_ code: CURLcode) -> Bool {
        attempt.relayAnswer.status != 0 || Self.isLoss(code) || handle.errorMessage.contains("CONNECT")
    }

    private func proxySecuring(_ proxy: Proxy, _ code: CURLcode) -> LoadError {
        let record = attempt.handshakes.last
        if code == CURLE_OPERATION_TIMEDOUT {
            return LoadError(.idleTimeout, at: .proxyTLS, "The handshake with \(proxy) did not end in time.")
        }
        if code == CURLE_PEER_FAILED_VERIFICATION || record?.isUntrusted == true {
            return LoadError(.proxyNotTrusted, at: .proxyTLS, "\(proxy): \(handle.errorMessage)")
        }
        if record?.isDone == false, record?.alert == nil, Self.isLoss(code) {
            return LoadError(.connectionLost, at: .proxyTLS, "\(proxy) ended the connection in the handshake.")
        }
        return LoadError(.tlsFailed, at: .proxyTLS, "\(proxy): \(handle.errorMessage)")
    }

    /// The error for a refused CONNECT.
    private func refusal(_ proxy: Proxy, _ code: CURLcode) -> LoadError {
        let answer = attempt.relayAnswer
        if code == CURLE_WRITE_ERROR {
            return LoadError(.proxyProtocol, at: .proxyConnect, "The header block of \(proxy) is too long.")
        }
        if answer.status == 407 { return demand(proxy, answer.challenges) }
        if answer.status >= 300 {
            let detail = answer.proxyStatus.map { ", \($0)" } ?? ""
            return LoadError(
                .proxyRefused, at: .proxyConnect, "\(proxy) answered CONNECT with \(answer.status)\(detail).")
        }
        if code == CURLE_OPERATION_TIMEDOUT {
            return LoadError(.idleTimeout, at: .proxyConnect, "\(proxy) did not answer in time.")
        }
        let isSilent = answer.status == 0 && Self.isLoss(code) && !handle.errorMessage.contains("response")
        if isSilent { return closed(proxy) }
        return LoadError(.proxyProtocol, at: .proxyConnect, "The answer of \(proxy) is not HTTP.")
    }

    private func closed(_ proxy: Proxy) -> LoadError {
        LoadError(.connectionLost, at: .proxyConnect, "\(proxy) closed the connection without an answer.")
    }

    private func demand(_ proxy: Proxy, _ challenges: [String]) -> LoadError {
        var fields = HTTPFields()
        for challenge in challenges { fields.append(HTTPField(name: .proxyAuthenticate, value: challenge)) }
        let head = HTTPResponse(status: .proxyAuthenticationRequired, headerFields: fields)
        return LoadError(
            .proxyAuthenticationRequired, at: .proxyConnect, "\(proxy) requires authentication.",
            underlying: ProxyChallenge(head: head))
    }

    /// RFC 1928 §6, RFC 1929 §2.
    private func socksError(_ proxy: Proxy) -> LoadError {
        let reason = CURLproxycode(UInt32(truncatingIfNeeded: handle.long(CURLINFO_PROXY_ERROR)))
        switch reason {
        case CURLPX_NO_AUTH, CURLPX_USER_REJECTED, CURLPX_IDENTD, CURLPX_IDENTD_DIFFER:
            return LoadError(
                .proxyAuthenticationRequired, at: .proxyConnect, "\(proxy) refuses connections of this user.")
        case CURLPX_REPLY_GENERAL_SERVER_FAILURE, CURLPX_REPLY_NOT_ALLOWED, CURLPX_REPLY_NETWORK_UNREACHABLE,
            CURLPX_REPLY_HOST_UNREACHABLE, CURLPX_REPLY_CONNECTION_REFUSED, CURLPX_REPLY_TTL_EXPIRED,
            CURLPX_REQUEST_FAILED:
            return LoadError(.proxyRefused, at: .proxyConnect, "\(proxy): \(handle.errorMessage)")
        case CURLPX_CLOSED, CURLPX_RECV_ADDRESS, CURLPX_RECV_AUTH, CURLPX_RECV_CONNECT, CURLPX_RECV_REQACK,
            CURLPX_SEND_AUTH, CURLPX_SEND_CONNECT, CURLPX_SEND_REQUEST:
            return closed(proxy)
        default:
            return LoadError(
                .proxyProtocol, at: .proxyConnect, "\(proxy) does not speak SOCKS 5 (libcurl \(reason.rawValue)).")
        }
    }
}
