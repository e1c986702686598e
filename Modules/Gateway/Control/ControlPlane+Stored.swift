internal import HTTPTypes
internal import Hummingbird
internal import Logging
internal import SallyportCore
internal import SallyportWire

// Instances report which configuration their store holds, so that a store restored from an older copy is noticed.
extension ControlPlane {
    /// Records which configuration the instance has stored; a late report changes nothing.
    func storedConfiguration(_ request: Request, _ context: ControlContext) async throws -> Response {
        let presented = try await inForce(context)
        guard let stored = try Self.epoch(ControlAPI.Query.stored, of: request) else {
            throw GatewayError(.invalid, "The query names no epoch.")
        }
        try await waitForTurn(presented.name.instance)
        _ = try await data.standing(ofStoreWith: stored, told: nil, of: presented)
        return Response(status: .noContent)
    }

    /// The refusal of a request whose instance had stored a newer configuration before; nil for any other request.
    func refusal(of request: Request, from presented: PresentedCertificate) async throws -> Response? {
        guard let stored = try Self.epoch(ControlAPI.Query.stored, of: request) else { return nil }
        let told = try Self.epoch(ControlAPI.Query.told, of: request)
        switch try await data.standing(ofStoreWith: stored, told: told, of: presented) {
        case .current: return nil
        case .putBack:
            logger.warning(
                "A store was put back as it was at an earlier time: its instance is locked.",
                metadata: ["instance": "\(presented.name.instance)"])
            return nil
        case .behind(let newest):
            return FailureMiddleware.response(
                status: .conflict, code: .serverCommunicationFailed, "behind",
                "The instance has stored a newer configuration than the one that was named.", stored: newest)
        }
    }

    private static func epoch(_ name: String, of request: Request) throws -> Int64? {
        guard let text = request.uri.queryParameters.get(name) else { return nil }
        guard let epoch = Int64(text), 0...(1 << 53) ~= epoch else {
            throw GatewayError(.invalid, "An epoch is a whole number of at most 2^53.")
        }
        return epoch
    }
}
