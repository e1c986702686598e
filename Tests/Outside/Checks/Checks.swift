#if canImport(Glibc)
internal import Glibc
#endif

/// Says what a program shows, and ends it with 1 if it is not so.
public func show(_ what: String, _ isSo: Bool) {
    print(isSo ? "shown: \(what)" : "NOT SO: \(what)")
    if !isSo { exit(1) }
}

/// An argument of the program, counted from 1. A program without it ends with 64.
public func argument(_ number: Int, _ usage: String) -> String {
    guard CommandLine.arguments.count > number else {
        print("usage: \(usage)")
        exit(64)
    }
    return CommandLine.arguments[number]
}
