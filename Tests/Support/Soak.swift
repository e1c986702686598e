internal import Foundation

/// Whether long runs were asked for: `make soak` sets `SALLYPORT_SOAK` to the number of transfers.
package enum Soak {
    package static let transfers = ProcessInfo.processInfo.environment["SALLYPORT_SOAK"].flatMap { Int($0) }
    package static var isOn: Bool { transfers != nil }
}
