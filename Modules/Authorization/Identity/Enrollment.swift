internal import Crypto
internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportWire
internal import X509

/// The EST exchanges (RFC 7030) that create and renew an identity. Each is tried once; the caller decides on retries.
struct Enrollment: Sendable {
    let client: any ControlClient
    let clock: any AuthorizationClock
    /// For a request for a certificate; nil for 20 s a try, and ``RetryAfter/total``.
    var patience: Patience?

    /// The authority that the link names by its fingerprint. It is fetched over a connection that is not authenticated
    /// and carries nothing secret.
    func authority(for link: ActivationLink) async throws(AuthorizationError) -> [UInt8] {
        let request = ControlRequest(
            gateway: link.gateway, target: ControlAPI.Path.authorities, trust: .anybody,
            limit: ControlAPI.Limits.certificates, timeout: .seconds(8))
        let bag = try await certificates(request)
        let authority = bag.certificates.first { Array(SHA256.hash(data: $0)) == link.authorityFingerprint }
        guard let authority else {
            throw AuthorizationError(
                .authorityMismatch, .serverCommunicationFailed,
                "The gateway does not show the authority that the link names; the access key was not sent.")
        }
        return authority
    }

    /// Sends user, access key and certificate request over a new connection, verified to the link's authority and host.
    ///
    /// - Parameters:
    ///   - entitlement: the app; nil stands for the link's.
    ///   - version: nil stands for any to which the user is entitled.
    func enroll(
        _ link: ActivationLink, as entitlement: EntitlementIdentifier?, _ version: EntitlementVersion?,
        authority: [UInt8], key: EnrollmentKey
    ) async throws(AuthorizationError) -> IdentityRecord {
        let query = [
            entitlement.map { "\(ControlAPI.Query.entitlement)=\($0)" },
            version.map { "\(ControlAPI.Query.version)=\($0)" },
        ].compactMap(\.self)
        let path = ControlAPI.Path.enroll + (query.isEmpty ? "" : "?\(query.joined(separator: "&"))")
        var request = try certificateRequest(to: link.gateway, path, [authority], key)
        let credentials = BasicCredentials(user: link.user, password: link.accessKey)
        request.headerFields[.authorization] = credentials.fieldValue.reveal()
        let issued: (der: [UInt8], certificate: Certificate, name: InstanceName)
        do throws(AuthorizationError) {
            let answer = try await certificates(request, refusal: "User or key were not accepted.")
            issued = try key.certificate(in: answer, from: [authority])
        } catch {
            throw error.ofEnrollment
        }
        var record = IdentityRecord(
            gateway: link.gateway.description, trust: .init(authorities: [authority]), certificate: [], privateKey: "",
            user: link.user, name: issued.name, notBefore: 0, notAfter: 0)
        record.take(issued, key: key)
        return record
    }

    /// Exchanges the current certificate, even one that expired within 30 days, for one with a new key.
    func renew(_ identity: IdentityRecord, key: EnrollmentKey) async throws(AuthorizationError) -> IdentityRecord {
        var request = try certificateRequest(
            to: identity.endpoint(), ControlAPI.Path.reenroll, identity.trust.authorities, key)
        request.identity = identity.clientIdentity
        let issued = try await key.certificate(in: renewedCertificates(request), from: identity.trust.authorities)
        guard issued.name == identity.name else {
            throw AuthorizationError(
                .communicationFailed, .serverCommunicationFailed, "The renewed certificate is another instance's.")
        }
        var record = identity
        record.take(issued, key: key)
        return record
    }

    private func renewedCertificates(_ request: ControlRequest) async throws(AuthorizationError) -> CertificateBag {
        do throws(AuthorizationError) {
            return try await certificates(request)
        } catch {
            guard error.underlying is CertificateExpired else { throw error }
            throw AuthorizationError(
                .identityExpired, .activationFailed,
                "The certificate expired more than 30 days ago by the gateway's clock.")
        }
    }

    private func certificateRequest(
        to gateway: Endpoint, _ path: String, _ authorities: [[UInt8]], _ key: EnrollmentKey
    ) throws(AuthorizationError) -> ControlRequest {
        var request = ControlRequest(
            method: .post, gateway: gateway, target: path, body: Array(ESTBody.encode(try key.request()).utf8),
            trust: .authorities(authorities), limit: ControlAPI.Limits.certificates,
            timeout: patience?.rest ?? .seconds(20))
        request.headerFields[.contentType] = ControlAPI.MediaType.certificateRequest
        if let encoding = HTTPField.Name("Content-Transfer-Encoding") { request.headerFields[encoding] = "base64" }
        return request
    }

    /// - Parameter refusal: the message for a response with status 401.
    private func certificates(
        _ request: ControlRequest, refusal: String? = nil
    ) async throws(AuthorizationError) -> CertificateBag {
        let answer = try await client.send(
            request, waitingBy: clock, within: patience, following: [429, 503])
        try answer.checkStatus(unauthorized: refusal)
        do {
            return try CertificateBag(parsing: ESTBody.decode(answer.body))
        } catch {
            throw AuthorizationError(
                .communicationFailed, .serverCommunicationFailed, "The gateway's answer is not one of EST.",
                underlying: UnusableAnswer())
        }
    }
}

extension ControlAnswer {
    /// Accepts only 200.
    ///
    /// - Parameter unauthorized: the message for a response with status 401; if nil, the message gives only the status.
    func checkStatus(unauthorized: String? = nil) throws(AuthorizationError) {
        switch status {
        case 200: return
        case 401:
            let message = unauthorized ?? "The gateway refused with status \(status)."
            throw AuthorizationError(.credentialsRefused, .credentialsFailed, message)
        case 403: throw refusal
        case 429:
            throw AuthorizationError(
                .communicationFailed, .serverCommunicationFailed, "The gateway is asked too often: try again later.",
                underlying: NotReady(wait: RetryAfter.wait(self)))
        case 503 where headerFields[.retryAfter] != nil:
            throw AuthorizationError(
                .unreachable, .noNetwork, "The gateway is not ready: it answered with status 503.",
                underlying: NotReady(wait: RetryAfter.wait(self, of: [503])))
        default:
            throw AuthorizationError(
                .communicationFailed, .serverCommunicationFailed, "The gateway answered with status \(status).",
                underlying: status < 500 ? UnusableAnswer() : nil)
        }
    }

    /// The error for the gateway's refusal, with this module's own message for known reasons.
    private var refusal: AuthorizationError {
        let failure = try? WireJSON.decode(ControlAPI.Failure.self, from: body, limit: ControlAPI.Limits.error)
        return switch failure?.error.name {
        case ControlAPI.Refusal.expired:
            AuthorizationError(
                .credentialsRefused, .credentialsFailed, "The certificate has expired by the gateway's clock.",
                underlying: CertificateExpired())
        case ControlAPI.Refusal.keyUsed:
            AuthorizationError(.linkUsed, .credentialsFailed, "The activation link was used already.")
        case ControlAPI.Refusal.keyExpired:
            AuthorizationError(.linkExpired, .credentialsFailed, "The activation link has expired.")
        case ControlAPI.Refusal.wrongApplication:
            AuthorizationError(
                .wrongApplication, .appIntegrityFailed,
                "The activation link is for another app, which can still use it.")
        case ControlAPI.Refusal.versionNotEntitled:
            AuthorizationError(
                .versionNotEntitled, .appVersionNotEntitled,
                "The user is not entitled to this version of the app; the activation link can still be used.")
        default:
            AuthorizationError(
                .credentialsRefused, .credentialsFailed, "The gateway refused with status \(status).")
        }
    }
}

extension IdentityRecord {
    func endpoint() throws(AuthorizationError) -> Endpoint {
        do {
            return try Endpoint(gateway)
        } catch {
            throw AuthorizationError(.store, .securityError, "The stored gateway is invalid.", underlying: error)
        }
    }
}

/// The gateway has answered that it cannot do it now.
struct NotReady: Error {
    /// After which time it may, as it says.
    let wait: Duration?
}

/// The gateway has answered that the instance's certificate has expired.
struct CertificateExpired: Error {}

/// The gateway has answered, and asking again would bring the same answer.
struct UnusableAnswer: Error {}

extension AuthorizationError {
    /// The gateway took the request for a certificate and issued none that counts: the enrolment has failed, and not
    /// the communication with the gateway.
    fileprivate var ofEnrollment: AuthorizationError {
        guard underlying is UnusableAnswer else { return self }
        return AuthorizationError(.provisioningFailed, .provisioningFailed, message, underlying: underlying)
    }
}
