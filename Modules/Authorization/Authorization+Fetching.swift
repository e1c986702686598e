internal import HTTPTypes
internal import Logging
internal import SallyportCore
internal import SallyportWire

extension Authorization {
    /// Fetches the configuration, and tells the gateway which one the store holds. So the gateway notices a store that
    /// was restored from an older copy, and locks the instance.
    ///
    /// If the gateway knows of a newer stored configuration than the request named, the request is made once more:
    /// another fetch of this instance may have stored that one meanwhile.
    func fetchConfiguration(
        as identity: IdentityRecord, within patience: Patience
    ) async throws(AuthorizationError) -> [UInt8] {
        var told: Int64?
        for _ in 0..<3 {
            let target = ControlAPI.Path.configuration + query(stored: try records.storedEpoch(), told: told)
            let answer = try await ask(target, as: identity, within: patience)
            guard answer.status == 409, let newest = answer.storedEpoch else {
                try answer.checkStatus()
                return answer.body
            }
            told = newest
        }
        throw AuthorizationError(
            .communicationFailed, .serverCommunicationFailed, "The gateway's refusal names no stored configuration.")
    }

    /// Tells the gateway which configuration the store now holds. If that fails, the next fetch tells it.
    func acknowledgeConfiguration(within patience: Patience) async {
        guard let identity, let stored = try? records.storedEpoch(), stored > 0 else { return }
        let target = "\(ControlAPI.Path.storedConfiguration)?\(ControlAPI.Query.stored)=\(stored)"
        do {
            let answer = try await ask(target, posting: [], as: identity, within: patience)
            if answer.status != 204 { try answer.checkStatus() }
        } catch {
            logger.debug("the stored configuration could not be reported", metadata: ["error": "\(error)"])
        }
    }

    private func query(stored: Int64, told: Int64?) -> String {
        var parts = ["\(ControlAPI.Query.stored)=\(stored)"]
        if let told { parts.append("\(ControlAPI.Query.told)=\(told)") }
        if let version = application?.version ?? decisions.version {
            parts.append("\(ControlAPI.Query.version)=\(version)")
        }
        return "?" + parts.joined(separator: "&")
    }

    private func ask(
        _ target: String, posting body: [UInt8]? = nil, as identity: IdentityRecord, within patience: Patience
    ) async throws(AuthorizationError) -> ControlAnswer {
        let request = ControlRequest(
            method: body == nil ? .get : .post, gateway: try identity.endpoint(), target: target, body: body,
            trust: .authorities(identity.trust.authorities), identity: identity.clientIdentity,
            limit: ControlAPI.Limits.configuration, timeout: patience.rest)
        return try await FleetClient(self).send(request, waitingBy: clock, tries: 2, within: patience)
    }
}

extension ControlAnswer {
    /// The newest epoch that was stored, according to the gateway.
    fileprivate var storedEpoch: Int64? {
        try? WireJSON.decode(ControlAPI.Failure.self, from: body, limit: ControlAPI.Limits.error).stored
    }
}
