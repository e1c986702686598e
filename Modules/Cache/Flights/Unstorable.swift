/// A small table of the requests whose last answers could not be stored: other loads do not wait for such a request.
struct Unstorable: Sendable {
    private static let length = 4096
    private var table: [UInt64] = []

    static func code(of key: RequestKey) -> UInt64 {
        key.url ^ key.principal &* 0x9e37_79b9_7f4a_7c15 ^ key.scope &* 0xc2b2_ae3d_27d4_eb4f
    }

    func contains(_ key: RequestKey) -> Bool {
        let code = Self.code(of: key)
        return !table.isEmpty && table[Int(code % UInt64(Self.length))] == code
    }

    mutating func insert(_ key: RequestKey) {
        if table.isEmpty { table = Array(repeating: 0, count: Self.length) }
        let code = Self.code(of: key)
        table[Int(code % UInt64(Self.length))] = code
    }

    mutating func remove(_ key: RequestKey) {
        guard contains(key) else { return }
        table[Int(Self.code(of: key) % UInt64(Self.length))] = 0
    }
}
