internal import Foundation

/// Runs programs with a clock that is not this machine's, by libfaketime.
package enum ShiftedTime {
    /// Runs a program by libfaketime's wrapper: what the library adds to the environment where it is loaded by itself hides
    /// the arguments from Swift's runtime.
    ///
    /// - Parameter time: how far its clock is from this machine's, as `+20m`.
    package static func child(_ time: String, _ program: String, _ arguments: [String] = []) throws -> ChildProcess {
        // Where one that was killed had the same number, the wrapper would end at once.
        let command = "rm -f /dev/shm/faketime_shm_$$ /dev/shm/sem.faketime_sem_$$; exec faketime \"$@\""
        return try ChildProcess(
            "/bin/sh", ["-c", command, "faketime", "-m", "-f", time, program] + arguments,
            environment: ["FAKETIME_DONT_FAKE_MONOTONIC": "1"])
    }

    /// Removes what a process leaves in shared memory, under its number, that loaded libfaketime by itself and was killed.
    package static func removeRemains(of identifier: Int32) {
        for name in ["faketime_shm", "sem.faketime_sem"] {
            try? FileManager.default.removeItem(atPath: "/dev/shm/\(name)_\(identifier)")
        }
    }

    /// Whether it can be done here; a sanitizer wants to be loaded before everything else.
    package static func isPossible() async -> Bool {
        guard !Sanitizer.isOn else { return false }
        return (try? await child("+1d", "true").outcome().status) == 0
    }
}
