internal import CSecureStore

/// The memory of this process as a whole.
package enum ProcessMemory {
    /// From now on the kernel writes no core dump of this process, and no process of the same user can read its memory
    /// or attach to it (`PR_SET_DUMPABLE` of prctl(2)). Root still can. A crash ends the process at once: the Swift
    /// runtime's backtrace, which prints memory, is switched off. Meant for a process whose keys lie in memory that
    /// libraries allocate, outside ``KeyMemory``.
    ///
    /// - Returns: false if the kernel refused.
    package static func keepFromDumps() -> Bool { sp_process_keep_from_dumps() == 0 }
}
