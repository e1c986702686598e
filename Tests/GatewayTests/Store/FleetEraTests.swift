import Testing

@testable import SallyportGateway

/// The number of a database's revision, which its owner can change.
@Suite struct FleetEraTests {
    /// Of a database whose table `fleet` has one row.
    private struct Transaction: FleetTransaction {
        let number: Int64

        func run(_ statement: String, _ values: [FleetValue]) async throws -> [FleetRow] {
            [FleetRow([.integer(number)])]
        }

        func run(
            _ statement: String, _ values: [FleetValue], inPartsOf count: Int, _ take: @Sendable ([FleetRow]) -> Void
        ) async throws {}
    }

    @Test(arguments: [0, 1, 1 << 40, 1 << 62 - 1] as [Int64])
    func ofAPossibleRevisionTheEndOfItsEraIsANumber(_ revision: Int64) async throws {
        #expect(try await Transaction(number: revision).revision() == revision)
        #expect(FleetEra.end(of: revision) > revision)
    }

    @Test(arguments: [.min, -1, 1 << 62, .max - 7, .max] as [Int64])
    func anotherNumberIsRefused(_ revision: Int64) async throws {
        await #expect(throws: GatewayError(.store, "")) { try await Transaction(number: revision).revision() }
    }
}
