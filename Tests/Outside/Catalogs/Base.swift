import SallyportBase

/// The text of an error of any module, for a log.
func line(for error: some CodedError) -> String {
    "\(error.code): \(error.message) (\(error.location))"
}

/// What an app keeps of a login: the password is printed as `<redacted>`.
struct Login {
    var user: String
    var password: Redacted<String>
}
