import FoundationEssentials
import SallyportGateway

/// What `admin instances` prints for people.
enum InstanceTable {
    static func text(of instances: [AdministrationReply.InstanceEntry], at now: Date) -> String {
        guard !instances.isEmpty else { return "no instance is activated" }
        var table = Table(["INSTANCE", "USER", "ENTITLEMENT", "VERSION", "STATUS", "LAST CONTACT"])
        for entry in instances {
            let age = Int64(min(now.timeIntervalSince(entry.lastContact), 1e12))
            table.append([
                entry.instance, entry.user, entry.entitlement, entry.version.isEmpty ? "-" : entry.version,
                entry.status, "\(StoreFindings.span(age)) ago",
            ])
        }
        return table.text
    }
}
