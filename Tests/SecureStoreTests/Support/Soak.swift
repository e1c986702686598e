import FoundationEssentials

/// How long tests with random inputs run: a part of their cases in each run, all of them where `SALLYPORT_SOAK` is set.
enum Soak {
    static let isOn = ProcessInfo.processInfo.environment["SALLYPORT_SOAK"] != nil

    static func cases(_ part: Int, of all: Int) -> Int { isOn ? all : part }
}
