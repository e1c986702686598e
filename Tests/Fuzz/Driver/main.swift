// libFuzzer on the target that `FUZZ_TARGET` names; without it, all names are printed.

internal import Glibc

private let chosen = getenv("FUZZ_TARGET").map { String(cString: $0) }.flatMap { name in
    FuzzTarget.all.first { $0.name == name }
}

/// By this name libFuzzer's own `main` wants it, which is linked in and never called.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    do throws(BrokenProperty) {
        try chosen?.run(Array(UnsafeBufferPointer(start: start, count: count)))
    } catch {
        fatalError("\(error)")
    }
    return 0
}

@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ count: UnsafeMutablePointer<Int32>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ body: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32

guard chosen != nil else {
    for target in FuzzTarget.all { print(target.name) }
    exit(getenv("FUZZ_TARGET") == nil ? 0 : 64)
}
var count = CommandLine.argc
var arguments = CommandLine.unsafeArgv
exit(runDriver(&count, &arguments, testOneInput))
