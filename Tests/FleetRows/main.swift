// Copies the first instance of a fleet many times, for Benchmarks/instances.sh:
//
//     FleetRows DATA COUNT
//
// DATA is the folder of a gateway of the fleet that does not run. The copies have identifiers and serial numbers of their
// own, and what a real instance has besides; their keys do not exist.
import Glibc

#if DEBUG && PostgreSQL
import SallyportPostgreSQL
import SallyportSecureStore
import SallyportWire
@testable import SallyportGateway

extension InstanceRecord {
    func copied() -> InstanceRecord {
        var copy = self
        copy.name = InstanceName(entitlement: name.entitlement, instance: InstanceIdentifier())
        copy.certificate.serial = (0..<16).map { _ in
            let digits = String(UInt8.random(in: 0...255), radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }.joined()
        return copy
    }
}

extension FleetStore {
    /// In transactions of a few thousand, so that none lasts long.
    func fill(_ count: Int) async throws {
        let key = key
        for start in stride(from: 0, to: count, by: 2000) {
            try await database.transaction(.write) { transaction in
                let row = try await transaction.run(
                    "SELECT \(FleetKey.instanceColumns) FROM instance LIMIT 1", [])
                guard let template = try row.first.map(key.openInstance) else {
                    throw GatewayError(.notFound, "There is no instance to copy.")
                }
                let copies = (start..<min(start + 2000, count)).map { _ in template.copied() }
                let revision = try await transaction.advance(from: 0, key) { mark in
                    for copy in copies { mark.instances.toggle(key.instanceHash.digest(of: copy)) }
                }
                for copy in copies { try await transaction.add(copy, key, revision: revision) }
            }
        }
    }
}

let arguments = CommandLine.arguments
guard arguments.count == 3, let count = Int(arguments[2]) else {
    print("usage: FleetRows DATA COUNT")
    exit(64)
}
let store = try await GatewayDirectory.open(
    store: arguments[1], protectedBy: .keyFile("\(arguments[1])/key"), options: .existing)
defer { store.close() }
guard let membership = try OwnStore(store).membership(), let key = FleetKey(membership.key) else {
    print("The gateway at \(arguments[1]) shares no database.")
    exit(64)
}
let database = try PostgresDatabase(membership.url)
try await FleetStore(database, key: key).fill(count)
await database.close()
#else
print("FleetRows is built for debugging only: it reaches into the gateway.")
exit(64)
#endif
