internal import Foundation
internal import SallyportWire

/// Identifies a user: made when the user is added, and never reused. The same name may later belong to another user.
struct UserIdentifier: Sendable, Hashable, Codable {
    fileprivate let value: UUID

    init() { value = UUID() }

    /// - Returns: nil if the text is of another form than an encoder writes.
    init?(_ reader: inout MemberReader) {
        var value: UUID?
        let isRead = reader.object { member, reader in
            guard member == "value" else { return false }
            value = reader.string().flatMap(UUID.init(uuidString:))
            return true
        }
        guard isRead, let value else { return nil }
        self.value = value
    }
}

/// One user's right to one application, on which instances and access keys depend.
struct Grant: Sendable, Hashable {
    let user: UserIdentifier
    let entitlement: String

    /// The same for equal grants only.
    var text: String { "\(user.value.uuidString) \(entitlement)" }
}

/// The identifier of an access key for administrators: a UUID in lower case.
struct AccessKeyIdentifier: Sendable, Hashable, TextCodable {
    let description: String

    init() { description = UUID().uuidString.lowercased() }

    init?(_ text: String) {
        guard let value = UUID(uuidString: text) else { return nil }
        description = value.uuidString.lowercased()
    }
}
