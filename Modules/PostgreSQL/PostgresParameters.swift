#if PostgreSQL
internal import CPQ
internal import Glibc
internal import SallyportGateway

/// The parameters of a statement, in the form that libpq takes: integers and texts as text, bytes as they are.
enum PostgresParameters {
    /// Returns whether libpq has taken the statement.
    static func send(_ statement: String, _ values: [FleetValue], over handle: OpaquePointer) -> Bool {
        var storage: [[CChar]?] = []
        var lengths: [Int32] = []
        var formats: [Int32] = []
        for value in values {
            storage.append(bytes(of: value))
            switch value {
            case .bytes(let bytes):
                lengths.append(Int32(bytes.count))
                formats.append(1)
            case .null, .integer, .text:
                lengths.append(0)
                formats.append(0)
            }
        }
        let copies = unsafe storage.map { unsafe copy($0) }
        defer { unsafe copies.forEach { unsafe free($0) } }
        let pointers = unsafe copies.map { unsafe $0.map { unsafe UnsafePointer($0) } }
        // Rows come in binary form.
        return unsafe PQsendQueryParams(
            handle, statement, Int32(values.count), nil, pointers, lengths, formats, 1) == 1
    }

    private static func bytes(of value: FleetValue) -> [CChar]? {
        switch value {
        case .null: nil
        case .integer(let value): Array("\(value)".utf8CString)
        case .text(let text): Array(text.utf8CString)
        case .bytes(let bytes): bytes.map { CChar(bitPattern: $0) }
        }
    }

    private static func copy(_ bytes: [CChar]?) -> UnsafeMutablePointer<CChar>? {
        guard let bytes else { return nil }
        let copy = unsafe UnsafeMutableRawPointer(malloc(max(1, bytes.count))).assumingMemoryBound(to: CChar.self)
        for (index, byte) in bytes.enumerated() { unsafe copy[index] = byte }
        return unsafe copy
    }
}

/// The rows of an answer, from libpq's binary form.
enum PostgresRows {
    /// The types of columns that a gateway's tables have, by PostgreSQL's number (`pg_type.dat`).
    private enum Kind: UInt32 {
        case boolean = 16
        case bytea = 17
        case int8 = 20
        case int4 = 23
        case text = 25
    }

    static func read(_ result: OpaquePointer) -> Result<[FleetRow], GatewayError> {
        let status = unsafe PQresultStatus(result)
        guard status == PGRES_TUPLES_OK || status == PGRES_SINGLE_TUPLE || status == PGRES_COMMAND_OK else {
            return .failure(unsafe failure(of: result))
        }
        let columns = unsafe PQnfields(result)
        return .success(
            unsafe (0..<PQntuples(result)).map { row in
                FleetRow((0..<columns).map { unsafe value(of: result, row, $0) })
            })
    }

    private static func value(of result: OpaquePointer, _ row: Int32, _ column: Int32) -> FleetValue {
        guard unsafe PQgetisnull(result, row, column) == 0, let start = unsafe PQgetvalue(result, row, column) else {
            return .null
        }
        let bytes = unsafe UnsafeRawBufferPointer(start: start, count: Int(PQgetlength(result, row, column)))
        switch Kind(rawValue: unsafe PQftype(result, column)) {
        case .boolean: return unsafe .integer(bytes.first == 1 ? 1 : 0)
        case .int8: return unsafe .integer(bytes.reduce(0) { $0 << 8 | Int64($1) })
        case .int4: return unsafe .integer(Int64(Int32(truncatingIfNeeded: bytes.reduce(0) { $0 << 8 | Int64($1) })))
        case .text: return unsafe .text(String(decoding: bytes, as: UTF8.self))
        case .bytea, nil: return unsafe .bytes(Array(bytes))
        }
    }

    /// The statement and its values are not repeated, since values may be secret.
    private static func failure(of result: OpaquePointer) -> GatewayError {
        // `PG_DIAG_SQLSTATE` and `PG_DIAG_MESSAGE_PRIMARY`, which are macros.
        let state = unsafe field("C", of: result)
        let message = unsafe field("M", of: result)
        return GatewayError(.store, "The database refuses a statement: \(message) (\(state))\(hint(for: state))")
    }

    private static func hint(for state: String) -> String {
        switch state {
        // `insufficient_privilege`.
        case "42501": ": `gateway fleet roles` prints the rights that a gateway's role needs"
        // `lock_not_available`.
        case "55P03": ": another gateway's change has not ended yet; try again"
        // `undefined_table`, also for a schema that the role may not use.
        case "42P01":
            ": `gateway init --database` makes the tables, and `gateway fleet roles` prints the rights that a gateway's role "
                + "needs"
        default: ""
        }
    }

    private static func field(_ code: Unicode.Scalar, of result: OpaquePointer) -> String {
        guard let text = unsafe PQresultErrorField(result, Int32(code.value)) else { return "?" }
        return unsafe String(cString: text)
    }
}
#endif
