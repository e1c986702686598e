internal import Foundation
internal import Glibc
internal import Metrics
internal import SallyportBase

/// What Prometheus' own libraries tell of a process, under the same names.
struct ProcessGauges: Sendable {
    private let memory: MeterFamily
    private let descriptors: MeterFamily
    private let limit: MeterFamily
    private let start: MeterFamily
    private let processor: ProcessorTime

    init(_ factory: any MetricsFactory) {
        memory = MeterFamily(.residentMemory, factory)
        descriptors = MeterFamily(.openDescriptors, factory)
        limit = MeterFamily(.descriptorLimit, factory)
        start = MeterFamily(.processStart, factory)
        processor = ProcessorTime(factory)
        if let began = Self.began { start.set(began) }
    }

    /// Called by one task at a time.
    func refresh() {
        descriptors.set(DescriptorLimit.used)
        var most = rlimit()
        if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &most) == 0 {
            limit.set(Double(most.rlim_cur))
        }
        if let pages = Self.words("/proc/self/statm").dropFirst().first.flatMap({ Int($0) }) {
            memory.set(pages * Int(sysconf(Int32(_SC_PAGESIZE))))
        }
        processor.refresh()
    }

    fileprivate static func words(_ path: String) -> [Substring] {
        let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        return text.split { $0 == " " || $0 == "\n" }
    }

    /// In seconds since 1970: when the machine was booted, and how long after it the process began (proc(5)).
    private static var began: Double? {
        let boot = words("/proc/stat").drop { $0 != "btime" }.dropFirst().first.flatMap { Double($0) }
        // The name of the program may have spaces, and ends with the last parenthesis.
        let text = (try? String(contentsOfFile: "/proc/self/stat", encoding: .utf8)) ?? ""
        let fields = text.split(separator: ")").last.map { $0.split(separator: " ") } ?? []
        guard let boot, fields.count > 19, let ticks = Double(fields[19]) else { return nil }
        return boot + ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
    }
}
