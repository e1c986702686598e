import TestSupport
import Testing

/// What `doctor --json` prints.
struct DoctorReport: Decodable {
    struct Finding: Decodable {
        var check: String
        var outcome: String
        var message: String
        var advice: String?
    }
    var sound: Bool
    var findings: [Finding]

    func outcomes(of check: String) -> [String] { findings.filter { $0.check == check }.map(\.outcome) }
    /// Those that failed, and those that warned, in their order.
    var failed: [String] { findings.filter { $0.outcome == "failed" }.map(\.check) }
    var warned: [String] { findings.filter { $0.outcome == "warning" }.map(\.check) }
    /// Of the first that failed or warned.
    var advice: String { findings.first { $0.outcome == "failed" || $0.outcome == "warning" }?.advice ?? "" }
    func message(of check: String) -> String { findings.first { $0.check == check }?.message ?? "" }
}

/// Runs `doctor`, and checks what holds of each of its reports.
///
/// - Parameters:
///   - time: how far its clock is from this machine's, as `+20m`; takes libfaketime.
///   - names: what names mean for it; what they do here where nil.
func doctor(
    _ store: String, _ arguments: String..., at time: String? = nil, seeing names: HostNames? = nil
) async throws -> (report: DoctorReport, outcome: Outcome) {
    let program = Programs.built("sallyport")
    let arguments = ["doctor", "--store", store, "--json"] + arguments
    let child =
        if let names {
            try names.child(program, arguments)
        } else if let time {
            try ShiftedTime.child(time, program, arguments)
        } else {
            try ChildProcess(program, arguments)
        }
    let outcome = try await child.outcome()
    let report = try outcome.json(DoctorReport.self)
    // Every failure and warning says what to do.
    let unwell = report.findings.filter { $0.outcome == "failed" || $0.outcome == "warning" }
    #expect(unwell.allSatisfy { $0.advice?.isEmpty == false }, "\(outcome.output)")
    #expect(report.sound == report.failed.isEmpty && report.sound == (outcome.status == 0))
    return (report, outcome)
}
