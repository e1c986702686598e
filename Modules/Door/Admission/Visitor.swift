/// The user of the program that connected, as the kernel reports it.
enum Visitor: Sendable, Hashable {
    /// A process of this user.
    case user(UInt32)
    /// The kernel reports no user: the other end is closed, is in another network namespace, or is a program of a user
    /// who has no number here.
    case unknown

    var number: UInt32? { if case .user(let number) = self { number } else { nil } }
}

/// Decides which programs may use a door.
struct Admission: Sendable {
    /// The user that the process runs as.
    var owner: UInt32
    var allowedUsers: Set<UInt32>
    var credential: DoorCredential?

    enum Answer: Sendable, Hashable {
        case welcome
        /// Admitted only if it shows this credential.
        case onlyWith(DoorCredential)
        /// Not admitted, whatever it shows.
        case refused
    }

    /// - Parameter asks: whether the place has a protocol in which a program can show the credential.
    func answer(to visitor: Visitor, askingForCredential asks: Bool = true) -> Answer {
        if let number = visitor.number, number == owner || allowedUsers.contains(number) { return .welcome }
        guard asks, let credential else { return .refused }
        return .onlyWith(credential)
    }
}
