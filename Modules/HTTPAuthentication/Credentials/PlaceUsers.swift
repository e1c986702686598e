/// The users that one principal is at one server, by realm: the value of a stored place. Realms and users are codes,
/// made by ``PlaceStorage``, and not names.
struct PlaceUsers: Sendable, Equatable {
    /// A user in a realm.
    struct User: Sendable, Hashable {
        let realm: [UInt8]
        let code: [UInt8]
    }

    /// The length of a code.
    static let codeLength = 16
    /// The most realms. Servers choose them, so the users of further ones are not stored.
    static let limit = 1024

    private var users: [[UInt8]: [UInt8]] = [:]

    init() {}

    /// A place that was stored without users has none.
    init(stored bytes: [UInt8]) {
        let length = Self.codeLength
        for start in stride(from: 0, through: bytes.count - 2 * length, by: 2 * length) {
            let middle = start + length
            users[Array(bytes[start..<middle])] = Array(bytes[middle..<middle + length])
        }
    }

    var stored: [UInt8] { users.flatMap { $0.key + $0.value } }

    /// Whether another user than this one is known in the realm.
    func hasOther(than user: User) -> Bool { users[user.realm].map { $0 != user.code } ?? false }

    mutating func note(_ user: User) {
        guard users.count < Self.limit || users[user.realm] != nil else { return }
        users[user.realm] = user.code
    }
}
