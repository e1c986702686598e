import SallyportAuthorization
import SallyportCore
import SallyportSecureStore
import TestSupport

@testable import SallyportCommandLine
@testable import SallyportSecureStore

/// The doctor's findings in a store, as another time would have them, and what `store` says of rare stores.
extension MessageValues {
    private static let day: Int64 = 86_400

    static let storedFindings: [String: Value] = [
        "an app's store two days before": { said(try await findings(-2 * day, on: $0)) },
        "an app's store now": { said(try await findings(0, on: $0)) },
        "an app's store after five days": { said(try await findings(5 * day, on: $0)) },
        "an app's store after eight days": { said(try await findings(8 * day, on: $0)) },
        "an app's store after forty days": { said(try await findings(40 * day, on: $0)) },
        "a store that has no app": { stage in
            try await reading(try await stage.place("store"), at: 0) { said(StoreFindings.of($0, $0.contact, at: $1)) }
        },
        "the store of an app that is withdrawn for good": { _ in
            said([StoreFindings.withdrawn(.lease, .wiped(.wiped))])
        },
    ]

    private static func findings(_ shift: Int64, on stage: MessageStage) async throws -> [Finding] {
        try await reading(try await stage.place("other-app"), at: shift) { StoreFindings.of($0, $0.contact, at: $1) }
    }

    private static func reading<Result>(
        _ path: String, at shift: Int64, _ body: (StoredAuthorization, Int64) -> Result
    ) async throws -> Result {
        let store = try await SecureStore.open(at: path, protectedBy: .keyFile("\(path)/key"), options: .readOnly)
        defer { store.close() }
        let clock = ShiftedClock(seconds: shift)
        return body(try StoredAuthorization.read(from: store, clock: clock), clock.wall)
    }

    private struct ShiftedClock: AuthorizationClock {
        let seconds: Int64
        var wall: Int64 { SystemClock().wall + seconds }
        var uptime: Int64 { SystemClock().uptime }
        func sleep(for duration: Duration) async throws { try await Task.sleep(for: duration) }
    }

    static let reports: [String: Value] = [
        "store stat during a rotation": { _ in
            let statistics = StoreStatistics(
                collections: [], records: 2, expiringRecords: 0, fileSize: 32768, usedSize: 20480, mapSize: 1 << 30,
                lastCommit: 3, commits: 1, writes: 1, readers: 0, dataKeys: 2, areKeysLocked: true)
            return said(StoreReport(statistics, isRestored: false).text)
        },
        "store verify of a store with more damage than is listed": { _ in
            var report = VerificationReport()
            for _ in 0..<(VerificationReport.maximumFindings + 3) {
                report.add(StoreFinding(kind: .record, message: "A record does not verify."))
            }
            // The last of the thousand, and what follows.
            return said(CheckReport(report).text.split(separator: "\n").suffix(3).joined(separator: "\n"))
        },
    ]

    static let environments: [String: Value] = Dictionary(
        uniqueKeysWithValues: [ShellArgument.sh, .fish].map { shell in
            let value: Value = { _ in
                said(DoorEnvironment(proxy: "127.0.0.1:1080", authorities: "/etc/corp.pem").text(for: shell))
            }
            return ("the environment of an open door for \(shell)", value)
        })

    private static func said(_ text: String) -> Said {
        Said(output: text.split(separator: "\n").map(String.init), status: 0)
    }
}
