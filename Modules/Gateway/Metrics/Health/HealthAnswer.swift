internal import HTTPTypes
internal import SallyportWire

/// What `/health/live` and `/health/ready` answer: 200 or 503, with each part and why it is not well.
struct HealthAnswer: Encodable {
    struct Part: Encodable {
        let status: String
        let reason: String?
    }

    private(set) var status = "ok"
    private(set) var parts: [String: Part] = [:]

    /// - Parameter isWell: whether a part is as it should be, for the question that was asked.
    init(_ states: [HealthState], where isWell: (HealthState) -> Bool) {
        for state in states {
            let partIsWell = isWell(state)
            if !partIsWell { status = "failed" }
            parts[state.name] = Part(status: partIsWell ? "ok" : "failed", reason: state.reason)
        }
    }

    var httpStatus: HTTPResponse.Status { status == "ok" ? .ok : .serviceUnavailable }

    var body: [UInt8] { ((try? WireJSON.encode(self)) ?? []) + [UInt8(ascii: "\n")] }
}
