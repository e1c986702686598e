package import SallyportCore

package protocol RelayPolicy: Sendable {
    func decide(certificateDER: [UInt8], target: Endpoint) -> RelayVerdict
}
package enum RelayVerdict: Sendable {
    case allowed(instance: String, address: IPAddress?, mayBeLocal: Bool)
    case refused(error: String, details: String, status: Int)
}
package final class Relay: Sendable {
    func start() async throws -> Int { 0 }
    func policyChanged() {}
    func shutdown() async {}
}
