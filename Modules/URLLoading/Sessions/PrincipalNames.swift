internal import FoundationEssentials
internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading
internal import SallyportTransport

/// Names principals after the `Authorization` fields that apps make by themselves, without keeping the fields.
struct PrincipalNames: Sendable {
    private let key: Redacted<[UInt8]>

    /// - Parameter key: 32 bytes; random ones if nil, so that the names hold as long as this value.
    init(key: Redacted<[UInt8]>? = nil) {
        self.key = key ?? Redacted([UInt8].random(count: 32))
    }

    /// Nil if the request has no such field.
    func principal(of request: LoadRequest) -> Principal? {
        guard request.headerFields.contains(.authorization), let field = request.headerFields[.authorization] else {
            return nil
        }
        let code = KeyedDigest.code(of: Array(field.utf8), key: key.reveal())
        return Principal("authorization:\(Data(code).base64EncodedString())")
    }
}
