/// The database of a fleet, as PostgreSQL is one: SQL with parameters, transactions, and notifications.
///
/// What a gateway does with it is in ``FleetStore``; how it is spoken to is the driver's, in a module of its own, so that
/// only a program that wants it links the database's library.
package protocol FleetDatabase: Sendable {
    /// Runs `body` in one transaction: committed when `body` returns, rolled back if it throws.
    ///
    /// - Throws: what `body` throws; `unreachable` if the database cannot be reached or does not answer in time. After
    ///   an error in the commit itself, it is not known whether it took place.
    func transaction<Value: Sendable>(
        _ kind: FleetTransactionKind, _ body: @Sendable (any FleetTransaction) async throws -> Value
    ) async throws -> Value

    /// A signal at each notification of this channel, and each time that notifications may have been missed. It ends with
    /// ``close()``.
    ///
    /// - Parameter state: a statement whose rows change with each notification, by which one that was lost is noticed.
    func notifications(of channel: String, watching state: String) -> AsyncStream<Void>

    /// Why notifications cannot be followed now; nil while they are.
    var trouble: GatewayError? { get async }

    /// On how many hosts it may be: by its URL, or by the addresses of its name if there is only one. It is told within
    /// seconds, even if no name server answers.
    var hostCount: Int { get async }

    /// Ends all connections. Later calls throw.
    func close() async
}

extension FleetDatabase {
    package var hostCount: Int { 1 }

    /// What an administrator should know of how the database keeps what it has acknowledged; nil for nothing, and if it does
    /// not answer.
    func warning() async -> String? {
        let count = await hostCount
        guard count > 1 else { return nil }
        let rows = try? await transaction(.read) { transaction in
            try await transaction.run("SELECT current_setting('synchronous_standby_names')", [])
        }
        guard let names = try? rows?.first?.text(0), names.allSatisfy(\.isWhitespace) else { return nil }
        return "The database's URL leads to \(count) hosts, and none waits for another (synchronous_standby_names is "
            + "empty): what was acknowledged, such as a lock, can be lost with its host. Demand a synchronous standby "
            + "(Patroni: synchronous_mode), unless a managed service keeps copies in a way of its own."
    }
}

package enum FleetTransactionKind: Sendable {
    /// Each statement sees what is committed when it begins.
    case write
    /// All statements see one state; none changes anything.
    case read
}

/// A transaction of a ``FleetDatabase``, until its closure returns.
package protocol FleetTransaction: Sendable {
    /// Runs one statement.
    ///
    /// - Parameter values: for `$1` and so on.
    /// - Returns: the rows.
    @discardableResult
    func run(_ statement: String, _ values: [FleetValue]) async throws -> [FleetRow]

    /// Runs one statement with an answer that may be long.
    ///
    /// - Parameter take: is given the rows in their order, some `count` at a time, while the others are still to come.
    func run(
        _ statement: String, _ values: [FleetValue], inPartsOf count: Int, _ take: @Sendable ([FleetRow]) -> Void
    ) async throws
}

/// A value of a statement's parameter or a row's column.
package enum FleetValue: Sendable, Hashable {
    case null
    case integer(Int64)
    case text(String)
    case bytes([UInt8])
}

/// A row of an answer, by column.
package struct FleetRow: Sendable, Hashable {
    private let values: [FleetValue]

    package init(_ values: [FleetValue]) { self.values = values }

    func integer(_ column: Int) throws(GatewayError) -> Int64 {
        guard case .integer(let value)? = value(column) else { throw Self.unexpected }
        return value
    }

    /// Nil for a null.
    func optionalInteger(_ column: Int) -> Int64? {
        guard case .integer(let value)? = value(column) else { return nil }
        return value
    }

    func bytes(_ column: Int) throws(GatewayError) -> [UInt8] {
        guard case .bytes(let value)? = value(column) else { throw Self.unexpected }
        return value
    }

    package func text(_ column: Int) throws(GatewayError) -> String {
        guard case .text(let value)? = value(column) else { throw Self.unexpected }
        return value
    }

    private func value(_ column: Int) -> FleetValue? { values.indices.contains(column) ? values[column] : nil }

    private static var unexpected: GatewayError {
        GatewayError(.store, "The database answers with another table than this version knows.")
    }
}
