import SallyportCore
import SallyportTransport
import Testing

@testable import SallyportDoor

/// What a program is told of a way that could not be opened.
struct DoorRefusalTests {
    private static func refusal(_ status: Int, _ proxyStatus: String? = nil) -> DoorRefusal {
        DoorRefusal(
            LoadError(
                .relayRefused, at: .relayConnect, "The relay refused.",
                underlying: RelayRefusal(status: status, proxyStatus: proxyStatus)))
    }

    @Test(arguments: [
        (502, "dns_error", 502, SOCKSReply.hostUnreachable), (504, "dns_timeout", 504, .hostUnreachable),
        (502, "connection_refused", 502, .refused), (504, "connection_timeout", 504, .hostUnreachable),
        (502, "destination_ip_unroutable", 502, .hostUnreachable), (503, "connection_limit_reached", 503, .failure),
        (403, "http_request_denied", 403, .notAllowed), (502, "destination_ip_prohibited", 403, .notAllowed),
    ])
    func aRelaysReasonIsPassedOn(status: Int, type: String, code: Int, reply: SOCKSReply) {
        let refusal = Self.refusal(status, "sallyport;error=\(type)")
        #expect(refusal.name == "relayRefused" && refusal.errorType == type)
        #expect(refusal.status.code == code && refusal.socksReply == reply)
    }

    /// As of Squid and Apache.
    @Test(arguments: [
        (403, 403, SOCKSReply.notAllowed, "http_request_denied"),
        (500, 502, .hostUnreachable, "destination_unavailable"),
        (502, 502, .hostUnreachable, "destination_unavailable"),
        (503, 503, .hostUnreachable, "destination_unavailable"),
        (504, 504, .hostUnreachable, "connection_timeout"),
    ])
    func aRelayThatGivesNoReasonIsKnownByItsStatus(status: Int, code: Int, reply: SOCKSReply, type: String) {
        let refusal = Self.refusal(status)
        #expect(refusal.status.code == code && refusal.socksReply == reply && refusal.errorType == type)
    }

    @Test(arguments: [LoadError.Code.cannotConnect, .relayUnreachable])
    func aConnectionThatTakesTooLongIsATimeOut(_ code: LoadError.Code) {
        let refusal = DoorRefusal(LoadError(code, at: .connect, "It took too long.", underlying: ConnectTimeout()))
        #expect(refusal.name == "\(code)" && refusal.status == .gatewayTimeout)
        #expect(refusal.socksReply == .hostUnreachable && refusal.errorType == "connection_timeout")
        #expect(DoorRefusal(LoadError(code, at: .connect, "It was refused.")).status == .badGateway)
    }
}
