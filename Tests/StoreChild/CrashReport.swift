import Glibc

/// Lets a signal that ends this process say where it came from: `ended in LMDB`, which trusts the pages that it walks, or
/// `ended in Sallyport`, whose checks come before it reads. Printed as a line in the place of an outcome.
func reportCrashes() {
    // The first call loads what unwinds, which a signal's handler must not.
    var frames = [UnsafeMutableRawPointer?](repeating: nil, count: 4)
    _ = backtrace(&frames, 4)
    for number in [SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGTRAP, SIGFPE] { signal(number, tellOrigin) }
}

private func tellOrigin(_ number: Int32) {
    signal(number, SIG_DFL)
    var frames = [UnsafeMutableRawPointer?](repeating: nil, count: 64)
    let count = Int(backtrace(&frames, 64))
    let libraries = frames[..<count].map(library)
    // Before the C library's frame, from which the kernel called this handler, stand the handler's own.
    let behind = libraries.drop { !$0.contains("/libc") }.drop { $0.contains("/libc") }
    let origin = behind.first { $0.contains("/liblmdb") || $0.hasSuffix("/StoreChild") } ?? "/StoreChild"
    say(origin.contains("/liblmdb") ? "ended in LMDB" : "ended in Sallyport by signal \(number)")
    _exit(70)
}

private func library(_ address: UnsafeMutableRawPointer?) -> String {
    var info = Dl_info()
    guard let address, dladdr(address, &info) != 0, let name = info.dli_fname else { return "" }
    return String(cString: name)
}
