internal import Glibc

/// What the tests run under.
package enum Sanitizer {
    /// Whether memory is watched: what is freed is kept back then, and mlock(2) does nothing.
    package static let isOn = dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil
}
