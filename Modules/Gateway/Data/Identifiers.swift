internal import Foundation
internal import SallyportWire

/// Who a user is: made when the user is added, and never given again. A name may come back as another user's.
struct UserIdentifier: Sendable, Hashable, Codable {
    private let value: UUID

    init() { value = UUID() }
}

/// What one user has of one application: what instances and access keys live by.
struct Grant: Sendable, Hashable {
    let user: UserIdentifier
    let entitlement: String
}

/// What administrators call an access key: a UUID, in lower case.
struct AccessKeyIdentifier: Sendable, Hashable, TextCodable {
    let description: String

    init() { description = UUID().uuidString.lowercased() }

    init?(_ text: String) {
        guard let value = UUID(uuidString: text) else { return nil }
        description = value.uuidString.lowercased()
    }
}
