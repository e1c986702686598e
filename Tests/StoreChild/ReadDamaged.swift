import DiskRecorder
import Glibc
import SallyportSecureStore
import StoreWorkload

/// `read DIRECTORY KEYFILE TRANSACTIONS`: for each input line `OFFSET BIT`, flips that bit of the data file, reads
/// every record through LMDB, flips it back, and prints how the reading was:
/// `same`, `refused` (it threw), `hidden` (records are missing), `repeated` (an iteration met one twice), or `wrong`
/// (a value that was not written there).
///
/// If LMDB ends this process instead, the process prints where (`crash_report_start`).
func readDamaged(at place: Place) async throws {
    let workload = Workload(writer: 0)
    let expected = workload.expected(after: place.number(0, 0))
    let file = open("\(place.directory)/data.mdb", O_RDWR | O_CLOEXEC)
    guard file >= 0 else { throw StoreError(.fileSystem, "No data file.") }
    crash_report_start()
    say("open")
    while let line = readLine() {
        let numbers = line.split(separator: " ").compactMap { Int($0) }
        guard numbers.count == 2 else { return }
        flip(bit: numbers[1], at: numbers[0], of: file)
        let outcome = await outcome(of: workload, at: place, expected: expected)
        flip(bit: numbers[1], at: numbers[0], of: file)
        say(outcome)
    }
}

private func flip(bit: Int, at offset: Int, of file: Int32) {
    var byte: UInt8 = 0
    guard pread(file, &byte, 1, off_t(offset)) == 1 else { return }
    byte ^= 1 << UInt8(bit)
    pwrite(file, &byte, 1, off_t(offset))
}

private func outcome(of workload: Workload, at place: Place, expected: [Int64: [UInt8]]) async -> String {
    var outcome = "same"
    do {
        let store = try await place.open(.readOnly)
        defer { store.close() }
        let records = workload.records(in: store)
        // One by one, as an app reads; then all, as an iteration meets them.
        for (key, value) in expected {
            do {
                let found = try store.read { try $0.value(for: key, in: records) }
                if let found, found != value { return "wrong" }
                if found == nil, outcome == "same" { outcome = "hidden" }
            } catch {
                outcome = "refused"
            }
        }
        let all = try store.read { try $0.all(in: records) }
        if all.contains(where: { expected[$0.0] != $0.1 }) { return "wrong" }
        if outcome == "same", Set(all.map(\.0)).count != all.count { outcome = "repeated" }
    } catch {
        if outcome == "same" { outcome = "refused" }
    }
    return outcome
}
