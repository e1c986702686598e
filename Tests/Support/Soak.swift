internal import Foundation

/// Whether long runs were asked for: `make soak` sets `SALLYPORT_SOAK` to the number of transfers.
package enum Soak {
    package static let transfers = ProcessInfo.processInfo.environment["SALLYPORT_SOAK"].flatMap { Int($0) }
    package static var isOn: Bool { transfers != nil }

    /// For what is to happen within a second. `make soak` has the machine to itself; in the suite, which runs beside other
    /// things and under sanitizers, it only has to happen soon.
    package static let second: Duration = isOn ? .seconds(1) : .seconds(8)
}
