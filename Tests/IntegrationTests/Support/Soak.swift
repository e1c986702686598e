import Foundation

/// Whether long runs were asked for: `make soak` sets `SALLYPORT_SOAK` to the number of transfers.
enum Soak {
    static let transfers = ProcessInfo.processInfo.environment["SALLYPORT_SOAK"].flatMap { Int($0) }
    static var isOn: Bool { transfers != nil }
}
