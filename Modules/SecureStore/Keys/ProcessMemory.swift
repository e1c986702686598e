internal import CSecureStore

/// The memory of this process as a whole.
package enum ProcessMemory {
    /// Makes the kernel write no core dump of this process and keep other processes of the same user from reading its
    /// memory or attaching to it (`PR_SET_DUMPABLE` of prctl(2)). Root still can. The Swift runtime's backtrace, which
    /// prints memory, is switched off, so a crash ends the process at once. Meant for a process whose keys are in
    /// memory that libraries allocate, outside ``KeyMemory``.
    ///
    /// - Returns: false if the kernel refused.
    package static func keepFromDumps() -> Bool { sp_process_keep_from_dumps() == 0 }
}
