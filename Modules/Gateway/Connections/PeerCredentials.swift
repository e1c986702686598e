internal import Glibc

/// `struct ucred` of unix(7), which Swift's glibc module leaves out.
struct PeerCredentials: Sendable {
    var process: pid_t = 0
    var uid: uid_t = 0
    var gid: gid_t = 0
}
